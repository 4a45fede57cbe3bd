//! The statements on files that users send in the local room. Triggers attach them to their messages and detach them.

statements! {
    PUT_UPLOAD = "
        INSERT INTO uploads (id, name, media_type, size_bytes, uploaded_ms) VALUES (?1, ?2, ?3, ?4, ?5)";
    PUT_UPLOAD_PART = "INSERT INTO upload_parts (upload, number, bytes) VALUES (?1, ?2, ?3)";
    PUT_EIGHT_UPLOAD_PARTS = "
        INSERT INTO upload_parts (upload, number, bytes)
        VALUES (?1, ?2, ?3), (?1, ?4, ?5), (?1, ?6, ?7), (?1, ?8, ?9),
            (?1, ?10, ?11), (?1, ?12, ?13), (?1, ?14, ?15), (?1, ?16, ?17)";
    TAKEN_BY_UPLOADS = "SELECT CAST(coalesce(sum(size_bytes), 0) AS BIGINT) AS taken_bytes FROM uploads";
    /// Drops all but the ?1 newest, and all but the newest that take at most ?2 bytes together.
    DROP_OLDEST_UNSENT_UPLOADS = "
        DELETE FROM uploads WHERE id IN (SELECT id FROM
            (SELECT id, row_number() OVER (ORDER BY uploaded_ms DESC, id DESC) AS place,
                CAST(sum(size_bytes) OVER (ORDER BY uploaded_ms DESC, id DESC) AS BIGINT) AS total
             FROM uploads WHERE message IS NULL) AS unsent
            WHERE place > ?1 OR total > ?2)";
    UNSENT_UPLOADS = "
        SELECT id, name, media_type, size_bytes FROM uploads WHERE message IS NULL ORDER BY uploaded_ms, id";
    UPLOAD_PARTS = "
        SELECT p.bytes FROM uploads AS u
        CROSS JOIN upload_parts AS p ON p.upload = u.id
        WHERE u.id = ?1 AND u.channel = ?2 AND u.message = ?3
        ORDER BY p.number";
    UPLOAD_PART = "
        SELECT p.bytes FROM uploads AS u
        CROSS JOIN upload_parts AS p ON p.upload = u.id
        WHERE u.id = ?1 AND u.channel = ?2 AND u.message = ?3 AND p.number = ?4";
    DROP_UNSENT_UPLOAD = "DELETE FROM uploads WHERE id = ?1 AND message IS NULL";
    /// Drops the oldest files from before ?1, up to about ?2 bytes.
    DROP_UNSENT_UPLOADS = "
        DELETE FROM uploads WHERE id IN (SELECT id FROM
            (SELECT id, CAST(sum(size_bytes) OVER (ORDER BY uploaded_ms, id) AS BIGINT) - size_bytes AS older_bytes
             FROM uploads WHERE message IS NULL AND uploaded_ms < ?1) AS unsent
            WHERE older_bytes < ?2)";
}

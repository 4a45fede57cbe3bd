//! The statements about files that people send in the local room. Triggers give them to their messages and take them away.

statements! {
    PUT_UPLOAD = "
        INSERT INTO uploads (id, name, media_type, size_bytes, uploaded_ms) VALUES (?1, ?2, ?3, ?4, ?5)";
    PUT_UPLOAD_PART = "INSERT INTO upload_parts (upload, number, bytes) VALUES (?1, ?2, ?3)";
    UNSENT_UPLOADS = "
        SELECT id, name, media_type, size_bytes FROM uploads WHERE message IS NULL ORDER BY uploaded_ms, id";
    UPLOAD_PARTS = "
        SELECT p.bytes FROM uploads AS u
        CROSS JOIN upload_parts AS p ON p.upload = u.id
        WHERE u.id = ?1 AND u.channel = ?2 AND u.message = ?3
        ORDER BY p.number";
    DROP_UNSENT_UPLOADS = "DELETE FROM uploads WHERE message IS NULL AND uploaded_ms < ?1";
}

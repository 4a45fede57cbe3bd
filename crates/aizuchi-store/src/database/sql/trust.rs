//! The statements on trust offers: to post without approval above some confidence.

statements! {
    /// The newest decided proposals in the channel ?2.
    CHANNEL_LABELS = "
        SELECT channel, confidence, state, decided_ms FROM proposals
        WHERE workspace = ?1 AND channel = ?2 AND decided_ms IS NOT NULL AND confidence IS NOT NULL
        ORDER BY decided_ms DESC, id DESC
        LIMIT +?3";
    PUT_TRUST_OFFER = "
        INSERT INTO trust_offers
            (workspace, channel, id, min_confidence, share, clicks, made_ms, state, decided_by, decided_ms)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
        ON CONFLICT (workspace, channel) DO UPDATE
        SET id = excluded.id, min_confidence = excluded.min_confidence, share = excluded.share,
            clicks = excluded.clicks, made_ms = excluded.made_ms, state = excluded.state,
            decided_by = excluded.decided_by, decided_ms = excluded.decided_ms";
    TRUST_OFFER = "
        SELECT workspace, channel, id, min_confidence, share, clicks, made_ms, state, decided_by, decided_ms
        FROM trust_offers
        WHERE workspace = ?1 AND channel = ?2";
    TRUST_OFFERS = "
        SELECT workspace, channel, id, min_confidence, share, clicks, made_ms, state, decided_by, decided_ms
        FROM trust_offers
        WHERE workspace = ?1
        ORDER BY channel";
    /// Offers that are open in a copy from before ?1 may have been answered since.
    WITHDRAW_ALL_OFFERS = "
        UPDATE trust_offers SET state = 'withdrawn', decided_by = '', decided_ms = ?1 WHERE state = 'open'";
    /// Replaces the name of a forgotten user who answered an offer.
    REPLACE_TRUSTER = "
        UPDATE trust_offers SET decided_by = ?3
        WHERE workspace = ?1 AND substr(decided_by, 1, length(CAST(?2 AS TEXT)) + 1) = CAST(?2 AS TEXT) || ' '";
}

-- A draft is followed by nobody until somebody keeps it. Before this, every order was given at once.
ALTER TABLE standing_orders ADD COLUMN is_draft INTEGER NOT NULL DEFAULT 0;

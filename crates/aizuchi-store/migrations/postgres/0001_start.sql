-- The tables of migrations/sqlite as they all leave them, whose comments say more. All times are UTC
-- milliseconds; `thread` is '' at a channel's top level. Numbers and flags are BIGINT, and texts are compared
-- and sorted byte by byte, as in SQLite, so that one statement means the same in both.

-- What SQLite has and statements use.

CREATE FUNCTION json_each(list JSONB)
RETURNS TABLE (key BIGINT, value JSONB, atom TEXT, type TEXT)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 100
AS $$
    SELECT e.place - 1, e.element,
        CASE WHEN jsonb_typeof(e.element) IN ('string', 'number') THEN e.element #>> '{}' END,
        CASE jsonb_typeof(e.element)
            WHEN 'string' THEN 'text'
            WHEN 'number' THEN CASE WHEN strpos(e.element #>> '{}', '.') > 0 THEN 'real' ELSE 'integer' END
            WHEN 'boolean' THEN e.element #>> '{}'
            ELSE jsonb_typeof(e.element)
        END
    FROM jsonb_array_elements(list) WITH ORDINALITY AS e (element, place)
$$;

CREATE FUNCTION json_each(list TEXT)
RETURNS TABLE (key BIGINT, value JSONB, atom TEXT, type TEXT)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 100
AS $$ SELECT * FROM json_each(list::jsonb) $$;

-- `path` is '$.' and the name of a field. What is no object stays as it is.
CREATE FUNCTION json_set(object TEXT, path TEXT, value TEXT) RETURNS TEXT
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT CASE jsonb_typeof(object::jsonb)
        WHEN 'object' THEN jsonb_set(object::jsonb, ARRAY[substr(path, 3)], to_jsonb(value))::text
        ELSE object
    END
$$;

CREATE FUNCTION as_json(words TEXT) RETURNS JSON
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT words::json $$;

-- Null if either is.
CREATE FUNCTION max(one BIGINT, other BIGINT) RETURNS BIGINT
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT CASE WHEN one >= other THEN one WHEN one < other THEN other END $$;

CREATE FUNCTION iif(is_so BOOLEAN, yes ANYELEMENT, no ANYELEMENT) RETURNS ANYELEMENT
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT CASE WHEN is_so THEN yes ELSE no END $$;

CREATE TABLE counters (
    "only" BIGINT PRIMARY KEY CHECK ("only" = 1),
    revision BIGINT NOT NULL,
    last_number BIGINT NOT NULL,
    -- Makes the keys of posts this installation's own.
    installation TEXT COLLATE "C" NOT NULL
);
INSERT INTO counters VALUES (1, 0, 0, left(replace(gen_random_uuid()::text, '-', ''), 16));

CREATE TABLE users (
    workspace TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    role TEXT COLLATE "C" NOT NULL DEFAULT 'member',
    PRIMARY KEY (workspace, id)
);

CREATE TABLE channels (
    workspace TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    visibility TEXT COLLATE "C" NOT NULL,
    -- The revision at which it was last public no more.
    withdrawn BIGINT,
    -- How long its people take to answer somebody else's line: a list of counts.
    delays TEXT COLLATE "C" NOT NULL DEFAULT '[]',
    PRIMARY KEY (workspace, id)
);
CREATE INDEX channels_withdrawn ON channels (workspace, withdrawn) WHERE withdrawn IS NOT NULL;

-- A deleted line stays as a tombstone without its text.
CREATE TABLE messages (
    -- SQLite numbers rows by itself.
    rowid BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE,
    workspace TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    thread TEXT COLLATE "C" NOT NULL,
    at_ms BIGINT NOT NULL,
    author TEXT COLLATE "C" NOT NULL,
    author_kind TEXT COLLATE "C" NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    mentions TEXT COLLATE "C" NOT NULL,
    edits BIGINT NOT NULL DEFAULT 0,
    edited_ms BIGINT,
    deleted_ms BIGINT,
    visibility TEXT COLLATE "C" NOT NULL,
    gate TEXT COLLATE "C",
    decision BIGINT,
    -- The revision that it came with, and the one that it came or changed with.
    heard BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    -- 1: not to be listened to, so in no prompt and no memory.
    withheld BIGINT NOT NULL DEFAULT 0,
    -- The revision at which the reactions to it changed last.
    reacted BIGINT,
    -- What the writer's own app calls it: it may come again under another id.
    sent_as TEXT COLLATE "C",
    PRIMARY KEY (workspace, id, channel)
);
CREATE INDEX messages_in_order ON messages (workspace, channel, thread, at_ms, id);
CREATE INDEX messages_in_channel ON messages (workspace, channel, at_ms, id);
CREATE INDEX messages_by_revision ON messages (workspace, revision);
CREATE INDEX messages_by_decision ON messages (decision) WHERE decision IS NOT NULL;
CREATE INDEX messages_by_reaction ON messages (workspace, reacted) WHERE reacted IS NOT NULL;
CREATE UNIQUE INDEX messages_sent_as ON messages (workspace, channel, sent_as)
    WHERE sent_as IS NOT NULL;

-- How people react to lines. What was taken away stays for as long as its line.
CREATE TABLE reactions (
    workspace TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    message TEXT COLLATE "C" NOT NULL,
    emoji TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    at_ms BIGINT NOT NULL,
    removed_ms BIGINT,
    -- 1: it came before its line, which it waits for.
    is_early BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (workspace, message, channel, emoji, user_id)
);
CREATE INDEX reactions_early ON reactions (workspace, message, channel) WHERE is_early = 1;

-- How far a platform's history has been heard.
CREATE TABLE bookmarks (
    workspace TEXT COLLATE "C" NOT NULL,
    place TEXT COLLATE "C" NOT NULL,
    value TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace, place)
);

-- One pending step per conversation. ready_ms: when it is due, or when its lease ends, if later.
CREATE TABLE steps (
    workspace TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    thread TEXT COLLATE "C" NOT NULL,
    verb TEXT COLLATE "C" NOT NULL,
    piece BIGINT,
    due_ms BIGINT NOT NULL,
    ready_ms BIGINT NOT NULL,
    decision BIGINT NOT NULL,
    is_owed BIGINT NOT NULL,
    redrafts BIGINT NOT NULL,
    follow_ms BIGINT,
    generation BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    token BIGINT,
    lease_until_ms BIGINT,
    -- When the first line was said that it waits for.
    since_ms BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (workspace, channel, thread)
);
CREATE INDEX steps_ready ON steps (ready_ms);

CREATE TABLE owed (
    workspace TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    message TEXT COLLATE "C" NOT NULL,
    thread TEXT COLLATE "C" NOT NULL,
    asker TEXT COLLATE "C" NOT NULL,
    at_ms BIGINT NOT NULL,
    closed_ms BIGINT,
    PRIMARY KEY (workspace, channel, message)
);
CREATE INDEX owed_open ON owed (workspace, channel, thread) WHERE closed_ms IS NULL;
CREATE INDEX owed_by_asker ON owed (workspace, asker, closed_ms);

-- state: draft, sending, said, replaced, dropped, dead. Only drafts are replaceable.
CREATE TABLE outbox (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    -- The first piece of the same draft.
    draft BIGINT NOT NULL,
    workspace TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    thread TEXT COLLATE "C" NOT NULL,
    decision BIGINT NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    notes TEXT COLLATE "C" NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    dispatched_ms BIGINT,
    message TEXT COLLATE "C",
    -- The line that a reaction is to; `text` is its emoji then.
    reaction_on TEXT COLLATE "C",
    is_unasked BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX outbox_drafts ON outbox (workspace, channel, thread) WHERE state = 'draft';
CREATE INDEX outbox_by_draft ON outbox (draft);
CREATE INDEX outbox_by_message ON outbox (workspace, message) WHERE message IS NOT NULL;
CREATE INDEX outbox_by_decision ON outbox (decision);
CREATE INDEX outbox_unasked ON outbox (workspace, dispatched_ms, channel)
    WHERE is_unasked = 1 AND dispatched_ms IS NOT NULL;

CREATE TABLE decisions (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    workspace TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    thread TEXT COLLATE "C" NOT NULL,
    opened_ms BIGINT NOT NULL,
    closed_ms BIGINT,
    is_addressed BIGINT NOT NULL,
    gate TEXT COLLATE "C",
    judgment TEXT COLLATE "C",
    state BIGINT,
    ended TEXT COLLATE "C",
    why TEXT COLLATE "C",
    revision BIGINT NOT NULL,
    mode TEXT COLLATE "C",
    passed TEXT COLLATE "C",
    conversation_state TEXT COLLATE "C",
    -- The revision that the verdict was made from.
    considered BIGINT
);
CREATE INDEX decisions_open ON decisions (workspace, channel, thread, id) WHERE closed_ms IS NULL;
CREATE INDEX decisions_judged ON decisions (workspace, channel, thread, id)
    WHERE closed_ms IS NOT NULL AND state IS NOT NULL;
CREATE INDEX decisions_of_channel ON decisions (workspace, channel, id);
CREATE INDEX decisions_by_revision ON decisions (workspace, revision);
CREATE INDEX decisions_unasked ON decisions (workspace, channel, closed_ms, thread)
    WHERE ended = 'spoke' AND is_addressed = 0;
CREATE INDEX decisions_over_budget ON decisions (workspace, channel, thread, closed_ms)
    WHERE ended = 'over_budget';

-- Model calls. result: kept, superseded, failed. Those of chores belong to no decision: theirs is 0.
CREATE TABLE attempts (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    decision BIGINT NOT NULL,
    verb TEXT COLLATE "C" NOT NULL,
    at_ms BIGINT NOT NULL,
    model TEXT COLLATE "C" NOT NULL,
    prompt_hash TEXT COLLATE "C" NOT NULL,
    prompt_bytes BIGINT NOT NULL,
    input_tokens BIGINT NOT NULL,
    cached_tokens BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    latency_ms BIGINT NOT NULL,
    result TEXT COLLATE "C" NOT NULL,
    judgment TEXT COLLATE "C",
    error TEXT COLLATE "C",
    price_micros BIGINT,
    chore TEXT COLLATE "C",
    -- What did not fit into the prompt, as JSON.
    left_out TEXT COLLATE "C" NOT NULL DEFAULT '[]'
);
CREATE INDEX attempts_of_decision ON attempts (decision);

-- What models were asked and what they said, apart from the ledger since it is dropped after a while.
CREATE TABLE exchanges (
    attempt BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    at_ms BIGINT NOT NULL,
    prompt TEXT COLLATE "C" NOT NULL,
    answer TEXT COLLATE "C"
);
CREATE INDEX exchanges_by_age ON exchanges (at_ms);

-- The lines that prompts held.
CREATE TABLE exchange_lines (
    workspace TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    line TEXT COLLATE "C" NOT NULL,
    attempt BIGINT NOT NULL,
    PRIMARY KEY (workspace, channel, line, attempt)
);
CREATE INDEX exchange_lines_of_attempt ON exchange_lines (attempt, line);

-- The memories that prompts held.
CREATE TABLE exchange_memories (
    memory BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    PRIMARY KEY (memory, attempt)
);
CREATE INDEX exchange_memories_of_attempt ON exchange_memories (attempt);

CREATE TABLE dead_letters (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    workspace TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    thread TEXT COLLATE "C" NOT NULL,
    verb TEXT COLLATE "C" NOT NULL,
    at_ms BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    error TEXT COLLATE "C" NOT NULL,
    text TEXT COLLATE "C"
);

-- What models used up, by whole hours and days, for a channel or ('') for the whole workspace.
CREATE TABLE spending (
    workspace TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    span TEXT COLLATE "C" NOT NULL,
    begin_ms BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    micros BIGINT NOT NULL,
    PRIMARY KEY (workspace, channel, span, begin_ms)
);

-- What people ordered. `channel` is '' for all of them; `role` is that of whoever ordered silence.

CREATE TABLE mutes (
    workspace TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    role TEXT COLLATE "C" NOT NULL,
    until_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, channel, role)
);

CREATE TABLE modes (
    workspace TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    mode TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace, channel)
);

-- Until when conversations were begun anew. What is heard later of the time before is not listened to either.
CREATE TABLE resets (
    workspace TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    thread TEXT COLLATE "C" NOT NULL,
    until_ms BIGINT NOT NULL,
    PRIMARY KEY (workspace, channel, thread)
);

CREATE TABLE opted_out (
    workspace TEXT COLLATE "C" NOT NULL,
    "user" TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace, "user")
);

-- What is remembered, and what is still to be. `scope` is workspace, channel or thread, with '' for the
-- ids that it does not have; `term` is short_term or long_term.
CREATE TABLE memories (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    workspace TEXT COLLATE "C" NOT NULL,
    scope TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    thread TEXT COLLATE "C" NOT NULL,
    term TEXT COLLATE "C" NOT NULL,
    -- The newest version; older ones are kept for a while.
    is_current BIGINT NOT NULL,
    made_ms BIGINT NOT NULL,
    -- When the newest line behind it was said.
    newest_ms BIGINT NOT NULL,
    -- JSON: dated entries with the lines behind them, and lines that lost their entry.
    entries TEXT COLLATE "C" NOT NULL,
    lost TEXT COLLATE "C" NOT NULL,
    -- As prompts print it: in its own channel, and everywhere else.
    text TEXT COLLATE "C",
    public_text TEXT COLLATE "C",
    -- The revision at which an entry was last dropped from it.
    touched BIGINT
);
CREATE UNIQUE INDEX memories_current ON memories (workspace, scope, channel, thread, term) WHERE is_current = 1;
CREATE INDEX memories_versions ON memories (workspace, scope, channel, thread, term, id);
CREATE INDEX memories_of_threads ON memories (workspace, channel, newest_ms) WHERE is_current = 1 AND scope = 'thread';

-- Which memories, in any of their versions, a line is behind; and when the last such version was dropped.
CREATE TABLE memory_sources (
    workspace TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    line TEXT COLLATE "C" NOT NULL,
    scope TEXT COLLATE "C" NOT NULL,
    of_channel TEXT COLLATE "C" NOT NULL,
    of_thread TEXT COLLATE "C" NOT NULL,
    term TEXT COLLATE "C" NOT NULL,
    gone_ms BIGINT,
    PRIMARY KEY (workspace, channel, line, scope, of_channel, of_thread, term)
);
CREATE INDEX memory_sources_gone ON memory_sources (gone_ms) WHERE gone_ms IS NOT NULL;

-- Memories that wait to be made. ready_ms: when it is due, or when its lease ends, if later. again_ms: when
-- it is due once more, if it was armed while it was being made.
CREATE TABLE chores (
    workspace TEXT COLLATE "C" NOT NULL,
    scope TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    thread TEXT COLLATE "C" NOT NULL,
    term TEXT COLLATE "C" NOT NULL,
    due_ms BIGINT NOT NULL,
    ready_ms BIGINT NOT NULL,
    attempts BIGINT NOT NULL DEFAULT 0,
    token BIGINT,
    again_ms BIGINT,
    PRIMARY KEY (workspace, scope, channel, thread, term)
);
CREATE INDEX chores_ready ON chores (ready_ms);

-- Somebody was forgotten, and the tables are still to be rewritten.
CREATE TABLE scrubs (due BIGINT NOT NULL);

-- Short named notes that the persona keeps; their ids are no memory's. `realm` is '' for what everybody may
-- know, else the channel. `memo` is the whole of it as JSON, `touched` the revision that it came or changed with.
CREATE TABLE memos (
    id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    workspace TEXT COLLATE "C" NOT NULL,
    realm TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    priority BIGINT NOT NULL,
    updated_ms BIGINT NOT NULL,
    touched BIGINT NOT NULL,
    memo TEXT COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX memos_named ON memos (workspace, realm, name);
CREATE INDEX memos_of_channel ON memos (workspace, channel);
CREATE INDEX memos_important ON memos (workspace, realm, priority DESC, updated_ms DESC, name);
CREATE INDEX memos_recent ON memos (workspace, realm, updated_ms DESC, name);

-- The lines behind a memo: it goes with any of them.
CREATE TABLE memo_lines (
    workspace TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    line TEXT COLLATE "C" NOT NULL,
    memo BIGINT NOT NULL,
    PRIMARY KEY (workspace, channel, line, memo)
);
CREATE INDEX memo_lines_of_memo ON memo_lines (memo);

-- Finding lines by their words. Lines are indexed in batches, in the order of their revisions.

-- Up to which revision; whatever came or changed later is searched as it stands.
CREATE TABLE recall_watermark (
    "only" BIGINT PRIMARY KEY CHECK ("only" = 1),
    revision BIGINT NOT NULL
);
INSERT INTO recall_watermark VALUES (1, 0);

-- A channel's lines that were heard with the same visibility.
CREATE TABLE recall_rooms (
    number BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    workspace TEXT COLLATE "C" NOT NULL,
    channel TEXT COLLATE "C" NOT NULL,
    visibility TEXT COLLATE "C" NOT NULL,
    -- How many lines are indexed, and the number that the newest one was given.
    lines BIGINT NOT NULL,
    last BIGINT NOT NULL,
    UNIQUE (workspace, channel, visibility)
);

-- The lines that are indexed, and which terms are in them. The number: that of the room above, the line's in
-- the lower 32 bits.
CREATE TABLE recall_lines (
    number BIGINT PRIMARY KEY,
    id TEXT COLLATE "C" NOT NULL,
    terms TSVECTOR
);
CREATE INDEX recall_lines_by_id ON recall_lines (id);
CREATE INDEX recall_terms ON recall_lines USING gin (terms);

-- Indexed lines that changed or went, and what they said: whoever changes one leaves that here, and the writer
-- empties this before it commits.
CREATE TABLE recall_stale (
    rowid BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    number BIGINT NOT NULL,
    text TEXT COLLATE "C" NOT NULL
);
CREATE FUNCTION note_stale_line() RETURNS TRIGGER LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO recall_stale (number, text)
    SELECT l.number, old.text FROM recall_lines AS l
    JOIN recall_rooms AS r ON r.number = l.number >> 32
    WHERE l.id = old.id AND r.workspace = old.workspace AND r.channel = old.channel;
    RETURN NULL;
END
$$;
CREATE TRIGGER recall_edited AFTER UPDATE OF text ON messages
FOR EACH ROW WHEN (old.text <> new.text) EXECUTE FUNCTION note_stale_line();
CREATE TRIGGER recall_removed AFTER DELETE ON messages
FOR EACH ROW EXECUTE FUNCTION note_stale_line();

-- However a line goes, the reactions to it go with it.
CREATE FUNCTION drop_reactions() RETURNS TRIGGER LANGUAGE plpgsql
AS $$
BEGIN
    DELETE FROM reactions WHERE workspace = old.workspace AND message = old.id AND channel = old.channel;
    RETURN NULL;
END
$$;
CREATE TRIGGER reactions_deleted AFTER UPDATE OF deleted_ms ON messages
FOR EACH ROW WHEN (new.deleted_ms IS NOT NULL) EXECUTE FUNCTION drop_reactions();
CREATE TRIGGER reactions_removed AFTER DELETE ON messages
FOR EACH ROW EXECUTE FUNCTION drop_reactions();

-- The planner needs to know nothing of words, and what it knows is not forgotten with them.
ALTER TABLE messages
    ALTER COLUMN text SET STATISTICS 0,
    ALTER COLUMN mentions SET STATISTICS 0;
ALTER TABLE users
    ALTER COLUMN name SET STATISTICS 0;
ALTER TABLE outbox
    ALTER COLUMN text SET STATISTICS 0,
    ALTER COLUMN notes SET STATISTICS 0;
ALTER TABLE decisions
    ALTER COLUMN judgment SET STATISTICS 0,
    ALTER COLUMN why SET STATISTICS 0;
ALTER TABLE attempts
    ALTER COLUMN judgment SET STATISTICS 0,
    ALTER COLUMN error SET STATISTICS 0;
ALTER TABLE exchanges
    ALTER COLUMN prompt SET STATISTICS 0,
    ALTER COLUMN answer SET STATISTICS 0;
ALTER TABLE dead_letters
    ALTER COLUMN error SET STATISTICS 0,
    ALTER COLUMN text SET STATISTICS 0;
ALTER TABLE memories
    ALTER COLUMN entries SET STATISTICS 0,
    ALTER COLUMN lost SET STATISTICS 0,
    ALTER COLUMN text SET STATISTICS 0,
    ALTER COLUMN public_text SET STATISTICS 0;
ALTER TABLE memos
    ALTER COLUMN name SET STATISTICS 0,
    ALTER COLUMN memo SET STATISTICS 0;
ALTER TABLE recall_lines
    ALTER COLUMN terms SET STATISTICS 0;
ALTER TABLE recall_stale
    ALTER COLUMN text SET STATISTICS 0;

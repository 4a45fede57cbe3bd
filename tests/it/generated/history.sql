-- A history in which every text is one of `words`. It needs the temporary tables `size` (messages, decisions, now_ms),
-- `places` (number, workspace, channel, name, visibility) and `words` (visibility, number, word), numbered from 0.

CREATE TEMP TABLE counts AS SELECT
    (SELECT count(*) FROM places) AS places,
    (SELECT count(*) FROM words WHERE visibility = 'public') AS public,
    (SELECT count(*) FROM words WHERE visibility = 'private') AS private,
    (SELECT revision FROM counters) AS revision,
    (SELECT last_number FROM counters) + 1000 AS number;

-- The word of a place and a number.
CREATE TEMP VIEW said AS
    SELECT p.number AS place, w.number AS number, w.word AS word
    FROM places AS p JOIN words AS w ON w.visibility = CASE p.visibility WHEN 'public' THEN 'public' ELSE 'private' END;

-- One row for each message: every place has one in turn, and each fourth of its conversations goes on in a thread.
CREATE TEMP TABLE lines AS
    WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n + 1 < (SELECT messages FROM size))
    SELECT n.n AS n, p.number AS place, p.workspace, p.channel, p.visibility,
        CASE p.visibility WHEN 'public' THEN c.public ELSE c.private END AS words,
        n.n / c.places AS turn,
        s.now_ms - 60000 - (s.messages - 1 - n.n) * (5184000000 / s.messages) AS at_ms
    FROM n, counts AS c, size AS s JOIN places AS p ON p.number = n.n % c.places;
CREATE TEMP TABLE ids AS
    SELECT n, CASE WHEN workspace GLOB 'T*' THEN printf('%d.%06d', at_ms / 1000, n)
        ELSE CAST(1180000000000000000 + n AS TEXT) END AS id FROM lines;
CREATE UNIQUE INDEX temp.ids_by_n ON ids (n);

-- A decision for each of the last messages, and for others so that all in all there are as many as wanted.
CREATE TEMP TABLE decided AS
    SELECT l.*, i.id AS message, (SELECT number FROM counts) + l.n AS id, l.n / c.places % 10 AS kind
    FROM lines AS l, counts AS c, size AS s JOIN ids AS i ON i.n = l.n
    WHERE l.n % max(1, s.messages / s.decisions) = 0 OR l.n >= s.messages - 10 * c.places;

INSERT INTO channels (workspace, id, name, visibility)
    SELECT workspace, channel, name, visibility FROM places WHERE true
    ON CONFLICT DO UPDATE SET name = excluded.name, visibility = excluded.visibility;
INSERT INTO users (workspace, id, name, kind)
    SELECT w.workspace, 'U' || n.number, n.word, 'human'
    FROM (SELECT DISTINCT workspace FROM places) AS w, words AS n WHERE n.visibility = 'public' AND n.number < 40
    ON CONFLICT DO NOTHING;

INSERT INTO messages (workspace, channel, id, thread, at_ms, author, author_kind, text, mentions, visibility, decision,
        heard, revision, reacted, gate)
    SELECT l.workspace, l.channel, i.id,
        CASE WHEN l.turn % 4 = 3 THEN (SELECT id FROM ids WHERE n = l.n - c.places) ELSE '' END,
        l.at_ms, 'U' || l.turn % min(40, c.public), 'human', s.word, '[]', l.visibility, d.id,
        c.revision + 1 + l.n, c.revision + 1 + l.n,
        CASE WHEN l.turn % 50 = 0 THEN c.revision + 1 + l.n END,
        CASE WHEN d.id IS NULL AND l.turn % 7 = 0 THEN 'caught_up' END
    FROM lines AS l, counts AS c
    JOIN ids AS i ON i.n = l.n
    JOIN said AS s ON s.place = l.place AND s.number = l.turn % l.words
    LEFT JOIN decided AS d ON d.n = l.n;
INSERT INTO reactions (workspace, channel, message, emoji, user_id, kind, at_ms)
    SELECT l.workspace, l.channel, i.id, s.word, 'U1', 'human', l.at_ms
    FROM lines AS l JOIN ids AS i ON i.n = l.n
    JOIN said AS s ON s.place = l.place AND s.number = l.turn % l.words
    WHERE l.turn % 50 = 0;

-- Each way in which a decision ends, in turn. What it wrote is what others say there.
INSERT INTO decisions (id, workspace, channel, thread, opened_ms, closed_ms, is_addressed, gate, judgment, state, ended,
        why, revision, mode, passed, conversation_state)
    SELECT d.id, d.workspace, d.channel, '', d.at_ms, CASE WHEN d.kind <> 8 THEN d.at_ms + 5000 END, d.kind = 1,
        CASE d.kind WHEN 3 THEN 'directed' WHEN 4 THEN 'muted' WHEN 5 THEN 'budget' END,
        CASE WHEN d.kind IN (0, 1, 2, 7, 9) THEN json_object('should_respond', json(iif(d.kind = 0, 'false', 'true')),
            'reason', s.word, 'confidence', 0.8, 'delay_seconds', 0, 'about', d.message) END,
        CASE WHEN d.kind IN (0, 1, 2, 7, 9) THEN d.id END,
        CASE d.kind WHEN 0 THEN 'chose_silence' WHEN 1 THEN 'spoke' WHEN 2 THEN 'dropped' WHEN 3 THEN 'chose_silence'
            WHEN 4 THEN 'muted' WHEN 5 THEN 'over_budget' WHEN 6 THEN 'failed' WHEN 7 THEN 'reacted' WHEN 9 THEN 'proposed' END,
        s.word, c.revision + 1 + d.n, 'companion', '["own_line","muted"]', 'active'
    FROM decided AS d, counts AS c JOIN said AS s ON s.place = d.place AND s.number = d.turn % d.words;
INSERT INTO attempts (id, decision, workspace, channel, verb, at_ms, model, prompt_hash, prompt_bytes, input_tokens,
        cached_tokens, output_tokens, latency_ms, result, judgment, error, price_micros)
    SELECT d.id, d.id, d.workspace, d.channel, iif(d.kind = 1, 'reply', 'judge'), d.at_ms + 1000, 'openai/large-1', '00ff',
        4000, 1000, 400, 50, 1200, iif(d.kind = 6, 'failed', 'kept'), (SELECT judgment FROM decisions WHERE id = d.id),
        iif(d.kind = 6, 'the provider answers 429: too many requests', NULL), 2500
    FROM decided AS d WHERE d.kind IN (0, 1, 2, 6, 7, 9);
INSERT INTO exchanges (attempt, at_ms, prompt, answer, stored_bytes)
    SELECT a.id, a.at_ms, s.word || char(10) || '# ' || s.word || char(10) || s.word, s.word, 100
    FROM decided AS d, counts AS c, size JOIN attempts AS a ON a.id = d.id
    JOIN said AS s ON s.place = d.place AND s.number = d.turn % d.words
    WHERE a.at_ms > size.now_ms - 86400000 OR d.n >= size.messages - 10 * c.places;
INSERT INTO spending (workspace, channel, span, begin_ms, tokens, micros)
    SELECT d.workspace, c.channel, s.span, a.at_ms - a.at_ms % s.length_ms, sum(a.input_tokens + a.output_tokens),
        sum(a.price_micros)
    FROM decided AS d JOIN attempts AS a ON a.id = d.id,
        (SELECT 'hour' AS span, 3600000 AS length_ms UNION ALL SELECT 'day', 86400000) AS s,
        (SELECT DISTINCT channel FROM places UNION ALL SELECT '') AS c
    WHERE c.channel IN ('', d.channel)
    GROUP BY 1, 2, 3, 4
    -- The program may have booked something before.
    ON CONFLICT DO UPDATE SET tokens = tokens + excluded.tokens, micros = micros + excluded.micros;

-- What it said, and what it reacted with.
INSERT INTO messages (workspace, channel, id, thread, at_ms, author, author_kind, text, mentions, visibility, gate, heard,
        revision)
    SELECT d.workspace, d.channel, 'own-' || d.n, '', d.at_ms + 4000, 'U-own', 'persona', s.word, '[]', d.visibility,
        'own_line', c.revision + 1 + d.n, c.revision + 1 + d.n
    FROM decided AS d, counts AS c JOIN said AS s ON s.place = d.place AND s.number = d.turn % d.words
    WHERE d.kind = 1;
INSERT INTO outbox (id, draft, workspace, channel, thread, decision, key, text, notes, state, dispatched_ms, message,
        reaction_on)
    SELECT d.id, d.id, d.workspace, d.channel, '', d.id, 'key-' || d.n, s.word,
        json_object('owed', json('[]'), 'about', d.message, 'considered', 1,
            'ends', iif(d.kind = 1, 'spoke', 'reacted'), 'why', s.word),
        'said', d.at_ms + 4000, iif(d.kind = 1, 'own-' || d.n, NULL), iif(d.kind = 7, d.message, NULL)
    FROM decided AS d JOIN said AS s ON s.place = d.place AND s.number = d.turn % d.words
    WHERE d.kind IN (1, 7);
-- What it would say once somebody approves it: the newest of each place is still open.
INSERT INTO outbox (id, draft, workspace, channel, thread, decision, key, text, notes, state)
    SELECT d.id, d.id, d.workspace, d.channel, '', d.id, 'key-' || d.n, s.word,
        json_object('owed', json('[]'), 'about', d.message, 'considered', 1, 'ends', 'spoke', 'why', s.word), 'proposed'
    FROM decided AS d JOIN said AS s ON s.place = d.place AND s.number = d.turn % d.words
    WHERE d.kind = 9;
INSERT INTO proposals (id, workspace, channel, thread, decision, confidence, made_ms, expires_ms, state, decided_by,
        decided_ms)
    SELECT d.id, d.workspace, d.channel, '', d.id, 0.8, d.at_ms + 5000, size.now_ms + 86400000,
        iif(d.n >= size.messages - 10 * c.places, 'open', 'declined'),
        iif(d.n >= size.messages - 10 * c.places, NULL, w.word), iif(d.n >= size.messages - 10 * c.places, NULL, d.at_ms + 9000)
    FROM decided AS d, counts AS c, size JOIN words AS w ON w.visibility = 'public' AND w.number = d.turn % c.public
    WHERE d.kind = 9;
INSERT INTO decision_marks (decision, workspace, mark, marked_by, at_ms)
    SELECT d.id, d.workspace, CASE d.turn % 3 WHEN 0 THEN 'right' WHEN 1 THEN 'should_have_spoken'
            ELSE 'should_have_kept_silent' END,
        w.word, d.at_ms + 9000
    FROM decided AS d, counts AS c
    JOIN words AS w ON w.visibility = 'public' AND w.number = d.turn % c.public
    WHERE d.kind < 8 AND d.n % 3 = 0;
INSERT INTO dead_letters (id, decision, workspace, channel, thread, verb, at_ms, attempts, error, text)
    SELECT d.id, d.id, d.workspace, d.channel, '', 'reply', d.at_ms + 5000, 3, 'the provider answers 429', s.word
    FROM decided AS d, counts AS c, size JOIN said AS s ON s.place = d.place AND s.number = d.turn % d.words
    WHERE d.kind = 6 AND d.n >= size.messages - 10 * c.places;

-- Calls that a reply wants to make: one that waits to be allowed, and one that somebody has refused. Names of tools and of
-- those who decide are not from the place, and hostile everywhere.
INSERT INTO consents (id, workspace, channel, thread, messages, is_addressed, decision, draft, tool, arguments, lineage, seen,
        made_ms, expires_ms, state, decided_by, decided_ms, is_settled, revision)
    SELECT 2 * max(d.id) + k.number, d.workspace, d.channel, '', json_array(d.message), 0, d.id, d.id,
        'garden__"><img src=x onerror=window.pwned=50>', iif(k.number = 0, json_object('note', s.word), ''),
        json_object('lines', json_array(json_array(d.channel, d.message)), 'memories', json('[]')),
        c.revision + 1 + size.messages, d.at_ms + 4000, size.now_ms + 86400000, iif(k.number = 0, 'open', 'refused'),
        iif(k.number = 0, NULL, '"><img src=x onerror=window.pwned=51>'), iif(k.number = 0, NULL, d.at_ms + 9000), k.number,
        c.revision + 1 + size.messages
    FROM decided AS d, counts AS c, size, (SELECT 0 AS number UNION ALL SELECT 1) AS k
    JOIN said AS s ON s.place = d.place AND s.number = d.turn % d.words
    WHERE d.kind = 1 GROUP BY d.workspace, d.channel, k.number;

-- The newest open decision of each place waits for a day.
INSERT INTO steps (workspace, channel, thread, verb, due_ms, ready_ms, decision, is_owed, redrafts, generation, attempts)
    SELECT d.workspace, d.channel, '', 'judge', size.now_ms + 86400000, size.now_ms + 86400000, max(d.id), 0, 0, 1, 0
    FROM decided AS d, size WHERE d.kind = 8 GROUP BY d.workspace, d.channel;

-- A memory of each place that is not made: its calls fail since an hour, and it is tried again in a day.
INSERT INTO chores (workspace, scope, channel, thread, term, due_ms, ready_ms)
    SELECT p.workspace, 'channel', p.channel, '', 'short_term', size.now_ms + 86400000, size.now_ms + 86400000
    FROM places AS p, size WHERE true
    ON CONFLICT DO NOTHING;
INSERT INTO attempts (id, decision, workspace, channel, verb, at_ms, model, prompt_hash, prompt_bytes, input_tokens,
        cached_tokens, output_tokens, latency_ms, result, error, price_micros, chore)
    SELECT c.number + 2 * size.messages + p.number, 0, p.workspace, p.channel, 'remember', size.now_ms - 3600000,
        'openai/small-1', '00ff', 4000, 0, 0, 0, 1200, 'failed', 'the provider answers 429: too many requests', 0,
        'channel/short_term/' || p.channel
    FROM places AS p, counts AS c, size;

-- Memories of each place in both terms, each with the version before it; entries that were removed; and memos.
CREATE TEMP TABLE entries AS
    SELECT p.number AS place, s.number AS number, json_object(
        'date', date((size.now_ms - 86400000 * (1 + s.number % 20)) / 1000, 'unixepoch'),
        'text', s.word, 'visibility', p.visibility,
        'lines', json_array(json_array(p.channel, (SELECT id FROM ids WHERE n = p.number))),
        'pinned', json(iif(s.number % 3 = 0, 'true', 'false')),
        'removed', json(iif(s.number % 5 = 4, 'true', 'false'))) AS entry
    FROM places AS p, size JOIN said AS s ON s.place = p.number WHERE s.number < 40;
INSERT INTO memories (id, workspace, scope, channel, thread, term, is_current, made_ms, newest_ms, entries, lost, text,
        public_text, touched)
    SELECT c.number + size.messages + p.number * 8 + t.number * 2 + v.is_current, p.workspace, t.scope,
        iif(t.scope = 'workspace', '', p.channel),
        iif(t.scope = 'thread', (SELECT id FROM ids WHERE n = p.number), ''), t.term, v.is_current,
        size.now_ms - 7200000 + 3600000 * v.is_current, size.now_ms - 7200000,
        (SELECT json_group_array(json(entry)) FROM entries WHERE place = p.number AND number >= 1 - v.is_current),
        '[]', NULL, NULL, NULL
    FROM places AS p, counts AS c, size,
        (SELECT 0 AS is_current UNION ALL SELECT 1) AS v,
        (SELECT 0 AS number, 'channel' AS scope, 'short_term' AS term UNION ALL SELECT 1, 'channel', 'long_term'
            UNION ALL SELECT 2, 'thread', 'short_term' UNION ALL SELECT 3, 'workspace', 'long_term') AS t
    -- A workspace's memory is made from what is public.
    WHERE t.scope <> 'workspace' OR p.number IN (SELECT min(number) FROM places WHERE visibility = 'public' GROUP BY workspace);
INSERT INTO memory_sources (workspace, channel, line, scope, of_channel, of_thread, term)
    SELECT m.workspace, l.value ->> 0, l.value ->> 1, m.scope, m.channel, m.thread, m.term
    FROM memories AS m, json_each(m.entries) AS e, json_each(e.value, '$.lines') AS l WHERE true
    ON CONFLICT DO NOTHING;
INSERT INTO memory_changes (id, workspace, scope, channel, thread, term, at_ms, changed_by, kind, old_version, new_version)
    SELECT m.id, m.workspace, m.scope, m.channel, m.thread, m.term, m.made_ms, w.word, 'edited', m.id - 1, m.id
    FROM memories AS m, counts AS c JOIN words AS w ON w.visibility = 'public' AND w.number = m.id % c.public
    WHERE m.is_current = 1 AND m.id > c.number;
INSERT INTO memos (id, workspace, realm, name, channel, priority, updated_ms, touched, memo)
    SELECT c.number + 2 * size.messages + s.place * 100 + s.number, p.workspace,
        iif(p.visibility = 'public', '', p.channel), s.word || s.place, p.channel, 3, size.now_ms - 5000, 1,
        json_object('name', s.word || s.place, 'content', s.word, 'priority', 3, 'tags', json_array(s.word),
            'detail', s.word, 'created', '2026-01-01T00:00:00Z', 'updated', '2026-01-01T00:00:00Z',
            'channel', p.channel, 'visibility', p.visibility, 'said_by', 'U1')
    FROM said AS s, counts AS c, size JOIN places AS p ON p.number = s.place WHERE s.number < 40;
-- In each place: a memo that was changed for a reply, what an operator tried, an order of each kind, and somebody who has
-- opted out. No text of an order and no name of a model is from the place.
INSERT INTO standing_orders (workspace, number, version, channel, thread, text, visibility, given_by, given_ms)
    SELECT p.workspace, 1 + p.number, 1, p.channel, '', s.word, p.visibility, 'U1', size.now_ms - 5000
    FROM places AS p, size JOIN said AS s ON s.place = p.number AND s.number = 0;
-- An order that nobody follows yet.
INSERT INTO standing_orders (workspace, number, version, channel, thread, text, visibility, given_by, given_ms, is_draft)
    SELECT p.workspace, 1 + c.places + p.number, 1, p.channel, '', s.word, p.visibility, 'U1', size.now_ms - 4000, 1
    FROM places AS p, counts AS c, size JOIN said AS s ON s.place = p.number AND s.number = 1;
INSERT INTO standing_order_numbers (workspace, number)
    SELECT p.workspace, 1 + c.places + max(p.number) FROM places AS p, counts AS c GROUP BY p.workspace
    ON CONFLICT DO NOTHING;
INSERT INTO old_memos (id, workspace, channel, at_ms, memo_id, memo)
    SELECT c.number + 2 * size.messages + s.place * 100 + 40, p.workspace, p.channel, size.now_ms - 6000,
        c.number + 2 * size.messages + s.place * 100 + s.number,
        json_object('name', s.word || s.place, 'content', s.word || ', once', 'priority', 3, 'tags', json_array(s.word),
            'detail', s.word, 'created', '2026-01-01T00:00:00Z', 'updated', '2026-01-01T00:00:00Z',
            'channel', p.channel, 'visibility', p.visibility, 'said_by', 'U1')
    FROM said AS s, counts AS c, size JOIN places AS p ON p.number = s.place WHERE s.number = 0;
INSERT INTO memory_changes (id, workspace, scope, channel, thread, term, at_ms, changed_by, kind, old_version, new_version,
        decision)
    SELECT o.id, o.workspace, 'memo', o.channel, '', '', o.at_ms, '', 'edited', o.id, o.memo_id,
        (SELECT max(d.id) FROM decided AS d WHERE d.workspace = o.workspace AND d.channel = o.channel AND d.kind = 1)
    FROM old_memos AS o, counts AS c WHERE o.id > c.number;
INSERT INTO unclaimed_calls (workspace, channel, at_ms, kind, model, calls, input_tokens, cached_tokens,
        cache_write_tokens, output_tokens, usage_is_estimated, price_micros)
    SELECT p.workspace, p.channel, size.now_ms - 4000, 'trial', 'openai/large-2', 2, 2000, 0, 0, 100, 0, 5000
    FROM places AS p, size;
INSERT INTO given_orders (workspace, at_ms, given_by, kind, channel, user_id, until_ms, value, decision)
    SELECT p.workspace, size.now_ms - 3000, w.word, k.kind, iif(k.user_id = '', p.channel, ''), k.user_id,
        iif(k.kind = 'mute', size.now_ms - 1000, NULL), k.value, NULL
    FROM places AS p, counts AS c, size,
        (SELECT 0 AS number, 'mute' AS kind, '' AS user_id, NULL AS value UNION ALL SELECT 1, 'unmute', '', NULL
            UNION ALL SELECT 2, 'mode', '', 'observe' UNION ALL SELECT 3, 'opt_out', 'U2', NULL
            UNION ALL SELECT 4, 'choose_model', '', 'openai/large-2') AS k
    JOIN words AS w ON w.visibility = 'public' AND w.number = (p.number + k.number) % c.public;
INSERT INTO opted_out (workspace, user)
    SELECT workspace, 'U' || (2 + number) FROM places WHERE true
    ON CONFLICT DO NOTHING;
INSERT INTO private_reads (workspace, channel, reader, what, hour_ms, last_ms, reads)
    SELECT p.workspace, p.channel, w.word, 'messages', size.now_ms - size.now_ms % 3600000, size.now_ms, 2
    FROM places AS p, size JOIN words AS w ON w.visibility = 'public' AND w.number < 40;

UPDATE counters SET revision = revision + 1 + (SELECT messages FROM size),
    last_number = (SELECT number FROM counts) + 4 * (SELECT messages FROM size) + 100 * (SELECT places FROM counts);
-- The last of a long history is indexed by the program; what is older would take it a while.
UPDATE recall_watermark SET revision = max(revision, (SELECT revision FROM counters) - 2000);

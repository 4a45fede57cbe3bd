-- When the last version of a memory that a line is behind was dropped. Prompts may have held it, so the line is
-- known as long as what they were made from, and no longer.
ALTER TABLE memory_sources ADD COLUMN gone_ms INTEGER;
CREATE INDEX memory_sources_gone ON memory_sources (gone_ms) WHERE gone_ms IS NOT NULL;
UPDATE memory_sources SET gone_ms = unixepoch() * 1000
WHERE (workspace, scope, of_channel, of_thread, term, channel, line) NOT IN
    (SELECT m.workspace, m.scope, m.channel, m.thread, m.term, l.value ->> 0, l.value ->> 1
     FROM memories AS m CROSS JOIN json_each(m.entries) AS e CROSS JOIN json_each(e.value, '$.lines') AS l);

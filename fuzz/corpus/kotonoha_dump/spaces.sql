-- PostgreSQL database dump

COPY public.sessions (session_key, messages, guild_id, channel_id) FROM stdin;
eavesdrop:202	[{"role": "user", "content": "ok", "timestamp": "2026-01-10T12:00:00"}, {"role": "user", "content": "ok ", "timestamp": "2026-01-10T12:01:00"}]	101	202
\.

--
-- PostgreSQL database dump
--

SET client_encoding = 'UTF8';

COPY public.alembic_version (version_num) FROM stdin;
202601201940
\.

COPY public.knowledge_chunks (id, source_id, content, embedding, location, token_count, retry_count, created_at) FROM stdin;
1	1	User: who has the key of the shed?\nAssistant: Nao has it.\nUser: since when?	[0.1,0.2]	{}	20	0	2026-01-10 05:00:00+00
2	1	Assistant: Nao has it.\nUser: since when?\nAssistant: Since spring:\n- first the key\n- then the lock	\N	{}	20	0	2026-01-10 05:00:00+00
3	2	User: who has the key of the shed?\nAssistant: Nao has it.\nUser: since when?\nAssistant: Since spring:\n- first the key\n- then the lock\nUser: C:\\\\seeds\tare there, <#909>	\N	{}	30	0	2026-01-11 05:00:00+00
9	3	a page about tea	\N	{}	4	0	2026-01-11 05:00:00+00
10	77	User: nobody knows where this was	\N	{}	4	0	2026-01-11 05:00:00+00
\.

COPY public.knowledge_sources (id, type, title, uri, status, error_code, error_message, metadata, created_at, updated_at) FROM stdin;
1	discord_session	who has the key	https://discord.com/channels/101/202/303	completed	\N	\N	{"user_id": 7, "thread_id": 303, "channel_id": 202, "session_type": "thread", "origin_session_key": "thread:303", "archived_until_timestamp": "2026-01-10T12:00:00"}	2026-01-10 05:00:00+00	2026-01-10 05:00:00+00
2	discord_session	who has the key	https://discord.com/channels/101/202/303	completed	\N	\N	{"user_id": 7, "thread_id": 303, "channel_id": 202, "session_type": "thread", "origin_session_key": "thread:303", "archived_until_timestamp": "2026-01-11T12:00:00"}	2026-01-11 05:00:00+00	2026-01-11 05:00:00+00
3	web_page	tea	https://tea.example	completed	\N	\N	{}	2026-01-11 05:00:00+00	2026-01-11 05:00:00+00
\.

COPY public.sessions (id, session_key, session_type, messages, status, guild_id, channel_id, thread_id, user_id, version, last_archived_message_index, created_at, last_active_at) FROM stdin;
1	thread:303	thread	[{"role": "assistant", "content": "Since spring:\\n- first the key\\n- then the lock", "timestamp": "2026-01-10T12:00:00"}, {"role": "user", "content": "C:\\\\\\\\seeds\\tare there, <#909>", "timestamp": "2026-01-11T12:00:00"}, {"role": "assistant", "content": "Thank you.", "timestamp": "2026-01-11T12:00:05.250000"}]	archived	101	202	303	7	3	0	2026-01-10 03:00:00+00	2026-01-11 03:00:05+00
2	eavesdrop:404	eavesdrop	[{"role": "assistant", "content": "The kettle is on the left.", "timestamp": "2026-01-12T09:00:00"}]	active	102	404	\N	\N	1	0	2026-01-12 00:00:00+00	2026-01-12 00:00:00+00
3	mention:8	mention	[{"role": "user", "content": "what is for lunch?", "timestamp": "2026-01-12T10:00:00"}, {"role": "assistant", "content": "Soup.", "timestamp": "2026-01-12T10:00:03"}]	active	101	202	\N	8	1	0	2026-01-12 01:00:00+00	2026-01-12 01:00:03+00
4	thread:505	thread	[{"role": "user", "content": "where are we?", "timestamp": "2026-01-12T10:00:00"}]	active	\N	506	505	8	1	0	2026-01-12 01:00:00+00	2026-01-12 01:00:00+00
5	thread:606	thread	not JSON	active	101	202	606	8	1	0	2026-01-12 01:00:00+00	2026-01-12 01:00:00+00
6	half a row
\.

--
-- PostgreSQL database dump complete
--

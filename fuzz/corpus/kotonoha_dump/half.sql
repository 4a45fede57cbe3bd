-- PostgreSQL database dump

COPY public.sessions (session_key, messages, guild_id) FROM stdin;
thread:1	[]	\N
half a row

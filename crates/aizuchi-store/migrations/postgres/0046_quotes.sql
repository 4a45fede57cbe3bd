-- Messages that carry the words of another one are found by whom they quote.
CREATE INDEX messages_quoting ON messages (workspace) WHERE instr(mentions, '"quote"') > 0;

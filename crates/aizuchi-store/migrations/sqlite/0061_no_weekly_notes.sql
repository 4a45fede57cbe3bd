-- Keepers get no note about the week any more.
DROP TABLE weekly_notes;

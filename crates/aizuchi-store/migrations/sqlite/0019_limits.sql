-- Judge calls that count no more are found by their time.
CREATE INDEX judge_calls_by_time ON judge_calls (at_ms);

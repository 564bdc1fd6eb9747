-- The session in which a token was made, with which it ends; 0 for none. Tokens of before end with their hour.
ALTER TABLE edit_token ADD COLUMN session_id INTEGER NOT NULL DEFAULT 0;

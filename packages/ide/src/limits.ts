/** Maximum size of a proposed content, in bytes of UTF-8. */
export const MAX_CONTENT_BYTES: number = 10 * 1024 * 1024;

/**
 * Maximum size of a message of a client, in bytes: in JSON, a proposed content
 * can take six times its size.
 */
export const MAX_MESSAGE_BYTES: number = 64 * 1024 * 1024;

/** Maximum number of clients at the same time. */
export const MAX_CLIENTS = 32;

/** Maximum number of diffs that a client may have open. */
export const MAX_DIFFS = 64;

/** Maximum number of files in a context. */
export const MAX_FILES = 10;

/** Maximum length of a selected text in a context, in UTF-16 code units. */
export const MAX_SELECTION = 16_384;

/** Maximum number of diagnostics in an answer. */
export const MAX_DIAGNOSTICS = 1000;

/** Maximum length of the message of a diagnostic, in UTF-16 code units. */
export const MAX_DIAGNOSTIC_MESSAGE = 500;

/** How long an editor may take to answer, in milliseconds. */
export const EDITOR_TIMEOUT_MS = 10_000;

/** How long changes of the context are collected, in milliseconds. */
export const CONTEXT_DELAY_MS = 50;

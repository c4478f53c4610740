/**
 * The form in which a client gets events: with the payloads of the extension,
 * or as plain A2A (CARD-3).
 */
export type StreamView = "extension" | "plain";

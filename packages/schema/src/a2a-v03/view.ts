/** What a client is shown of an event: the payloads of the extension, or plain A2A (CARD-3). */
export type StreamView = "extension" | "plain";

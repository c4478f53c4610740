/** How much of an event a client is shown: all of it, or what A2A alone has words for (CARD-3). */
export type StreamView = "extension" | "plain";

/**
 * Options of A2A 1.0 where its revisions, or the test kits for them, differ.
 */
export interface A2aOptions {
  /**
   * The agent card for clients that request no version: `hybrid` is a card of
   * A2A 0.3 and 1.0 in one, `v1` a card of A2A 1.0 only. Default `hybrid`.
   */
  readonly unversionedCard?: "hybrid" | "v1" | undefined;

  /**
   * Whether the public card lists A2A 1.0 over gRPC, as the extended card does
   * wherever `connect()` is served. Its address is `host:port`, as clients of
   * gRPC want it, and agents on Google's ADK refuse a card with such an address.
   * Default false.
   */
  readonly grpcInCard?: boolean | undefined;

  /**
   * The revision that defines error codes and HTTP status codes. Default
   * `1.0.1`.
   */
  readonly revision?: "1.0.0" | "1.0.1" | undefined;

  /**
   * How to handle a message to a task that has ended: `continue` creates a task
   * that continues it (STREAM-5), `refuse` returns an error. Default
   * `continue`.
   */
  readonly endedTask?: "continue" | "refuse" | undefined;

  /**
   * How to handle a message of A2A 1.0 that names a context and no task, while
   * exactly one task of the context waits for its user: `continue` gives it to
   * that task, as in A2A 0.3, `create` creates a task. Default `create`.
   */
  readonly contextAlone?: "continue" | "create" | undefined;

  /**
   * How to handle a message of A2A 1.0 without an id: `refuse` returns an
   * error, `generate` gives it a random id. A retry of such a message is a new
   * message. Default `refuse`.
   */
  readonly missingMessageId?: "refuse" | "generate" | undefined;

  /**
   * The media types that parts of messages may have, at all agents: what the
   * card of an agent lists only informs clients. A part without a media type is
   * always accepted. Default: all.
   */
  readonly inputModes?: readonly string[] | undefined;

  /**
   * Who may read the extended agent card: `known` are callers with credentials,
   * `everybody` includes anonymous callers. Default `known`.
   */
  readonly extendedCard?: "known" | "everybody" | undefined;
}

/** Identifies a conversation that its agent keeps itself. */
export interface AgentSessionKey {
  readonly principal: string;
  readonly contextId: string;
}

/**
 * A turn in a conversation that its agent keeps itself, under
 * `Task.agentSessionId`.
 */
export interface SessionTurn extends AsyncDisposable {
  /**
   * Grows when a turn begins at another server than the turn before. So state
   * of an earlier turn is valid while it is the same.
   */
  readonly fence: bigint;

  /**
   * The id of the agent's session as it was last recorded here; empty for none.
   */
  readonly agentSessionId: string;

  /** Records the id of the agent's session. */
  record(agentSessionId: string): Promise<void>;

  /**
   * Ends the turn, so that another server can begin one. Does nothing when the
   * lease of this server is lost.
   */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Lets one server at a time work in each conversation that its agent keeps
 * itself.
 */
export interface AgentSessions {
  /**
   * Begins a turn. Undefined while another server has one. One server may have
   * several turns at the same time.
   */
  begin(conversation: AgentSessionKey): Promise<SessionTurn | undefined>;
}

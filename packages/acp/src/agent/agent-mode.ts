import type { AcpConnection } from "./acp-connection.ts";
import type { EnteredSession } from "./enter-session.ts";
import type { SessionState } from "./session-state.ts";

/**
 * The mode in which an agent works in a session, such as `plan`; how it comes
 * into plan mode and back.
 */
export class AgentMode {
  readonly #connection: AcpConnection;
  #sessionId = "";
  #state: SessionState["modes"];
  /**
   * The mode in which the agent was before plan mode; empty when it is not
   * known.
   */
  #beforePlan = "";
  /**
   * The mode in which the agent went on with an earlier session; empty for a
   * new session.
   */
  #continuedIn = "";

  constructor(connection: AcpConnection) {
    this.#connection = connection;
  }

  /** Takes the modes that the agent lists when it opens a session. */
  enter({ id, state, isContinued }: EnteredSession): void {
    this.#sessionId = id;
    this.#state = state.modes;
    if (isContinued) this.#continuedIn = this.current;
  }

  /** The present mode; empty when the agent has none. */
  get current(): string {
    return this.#state?.currentModeId ?? "";
  }

  /** Whether the agent has a mode. */
  has(id: string): boolean {
    return this.#state?.ids.includes(id) ?? false;
  }

  /** Takes the mode to which the agent says that it has changed. */
  note(modeId: string): void {
    if (this.#state) this.#state = { ...this.#state, currentModeId: modeId };
  }

  /**
   * Sets the mode. Does nothing when it is the present one, or empty.
   */
  async set(modeId: string, signal: AbortSignal): Promise<void> {
    if (this.current === modeId || modeId === "") return;
    const params = { sessionId: this.#sessionId, modeId };
    await this.#connection.request("session/set_mode", signal, (agent) =>
      agent.request("session/set_mode", params),
    );
    this.note(modeId);
  }

  /** Sets the agent's mode for the approval mode `plan`. */
  async enterPlan(planMode: string, signal: AbortSignal): Promise<void> {
    if (this.current !== planMode) this.#beforePlan = this.current;
    await this.set(planMode, signal);
  }

  /**
   * Sets the mode in which the agent was before `enterPlan`. For an agent that
   * went on with a session in that mode, it is the first other mode of its
   * list. Does nothing when the agent entered the mode by itself.
   */
  async leavePlan(planMode: string, signal: AbortSignal): Promise<void> {
    const other = this.#state?.ids.find((id) => id !== planMode) ?? "";
    const before =
      this.#beforePlan || (this.#continuedIn === planMode ? other : "");
    if (this.current === planMode) await this.set(before, signal);
    this.#beforePlan = "";
    this.#continuedIn = "";
  }
}

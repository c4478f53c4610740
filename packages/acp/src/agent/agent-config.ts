import type { SetSessionConfigOptionResponse } from "@agentclientprotocol/sdk";
import { stringOrEmpty } from "@devtool/internal/json";
import {
  Code,
  DevtoolError,
  type OfferedModel,
  quoted,
} from "@devtool/server/agent";
import type { AcpConnection } from "./acp-connection.ts";
import type { EnteredSession } from "./enter-session.ts";
import { type AgentOption, agentOptions, type OnOdd } from "./session-state.ts";

/** The models between which a session of an agent chooses. */
interface ModelChoice {
  /**
   * The option that chooses one. Undefined for an agent that takes
   * `session/set_model` in place of an option.
   */
  readonly optionId: string | undefined;
  /** The model that answers. */
  readonly current: string;
  readonly offered: readonly OfferedModel[];
}

/** The configuration options of an agent in a session, and its models. */
export class AgentConfig {
  readonly #connection: AcpConnection;
  readonly #agentName: string;
  #sessionId = "";
  readonly #onOdd: OnOdd;
  #options: readonly AgentOption[] = [];
  /** The models of an agent that has no option for them. */
  #models: readonly OfferedModel[] = [];
  #currentModelId = "";
  /**
   * The model that the session had before a turn chose one; empty while none
   * has.
   */
  #modelBefore = "";

  constructor(connection: AcpConnection, agentName: string, onOdd: OnOdd) {
    this.#connection = connection;
    this.#agentName = agentName;
    this.#onOdd = onOdd;
  }

  /** Takes what the agent lists when it opens a session. */
  enter({ id, state }: EnteredSession): void {
    this.#sessionId = id;
    this.#options = state.options;
    this.#models = state.models;
    this.#currentModelId = state.currentModelId;
  }

  /**
   * Takes the options that the agent reports: all of the session, since another
   * model may have others. Ignores anything but a list.
   */
  note(options: unknown): void {
    if (!Array.isArray(options)) return;
    this.#options = agentOptions(options, this.#onOdd);
  }

  /** The options with their present values. */
  get options(): readonly AgentOption[] {
    return this.#options;
  }

  /**
   * The models of the agent, and which of them answers. Undefined if the agent
   * offers no choice.
   */
  get models(): ModelChoice | undefined {
    const option = this.#options.find(
      ({ category, isBoolean }) => category === "model" && !isBoolean,
    );
    if (option) {
      const current = stringOrEmpty(option.currentValue);
      return { optionId: option.id, current, offered: option.values };
    }
    return this.#models.length === 0
      ? undefined
      : {
          optionId: undefined,
          current: this.#currentModelId,
          offered: this.#models,
        };
  }

  /**
   * The model of turns that choose none; empty if the agent offers no choice.
   */
  get ownModel(): string {
    return this.#modelBefore || (this.models?.current ?? "");
  }

  /**
   * Sets the model of a turn. An empty name stands for the model that the
   * session had before a turn chose one.
   *
   * Throws `Code.InvalidArgument` for a name where the agent offers no choice.
   */
  async useModel(name: string, signal: AbortSignal): Promise<void> {
    const { models } = this;
    const modelId = name || this.#modelBefore;
    if (modelId !== "" && !models) throw missingModels(this.#agentName);
    this.#modelBefore = name === "" ? "" : this.ownModel;
    if (!models || modelId === "" || modelId === models.current) return;
    if (models.optionId !== undefined) {
      return this.set(models.optionId, modelId, signal);
    }
    const params = { sessionId: this.#sessionId, modelId };
    await this.#connection.request("session/set_model", signal, (agent) =>
      agent.request("session/set_model", params),
    );
    this.#currentModelId = modelId;
  }

  /**
   * Sets one of the agent's configuration options. Does nothing when it has the
   * value already.
   */
  async set(
    configId: string,
    value: string | boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const option = this.#options.find(({ id }) => id === configId);
    if (option?.currentValue === value) return;
    const sessionId = this.#sessionId;
    const params =
      typeof value === "boolean"
        ? { sessionId, configId, type: "boolean" as const, value }
        : { sessionId, configId, value };
    const changed = await this.#connection.request(
      "session/set_config_option",
      signal,
      (agent): Promise<SetSessionConfigOptionResponse | null> =>
        agent.request("session/set_config_option", params),
    );
    this.note(changed?.configOptions);
  }

  /** Whether a configuration option sets the agent's mode. */
  isModeOption(id: string): boolean {
    return this.#options.some(
      (option) => option.id === id && option.category === "mode",
    );
  }
}

/** Creates the error for a model of an agent that offers no choice. */
export function missingModels(name: string): DevtoolError {
  return new DevtoolError(
    `agent ${quoted(name)} offers no choice of a model`,
    Code.InvalidArgument,
    { remedy: "leave it out" },
  );
}

import {
  ApprovalMode,
  type ListedAgent,
  stricterMode,
  type Task,
} from "@devtool/schema";
import {
  approvalModeName,
  approvalModeOf,
  assertNarrower,
  assertWithinLimit,
} from "../approval-mode.ts";
import { type ChosenSetting, refusalOf } from "../chosen-setting.ts";
import {
  type ChosenSettings,
  type NewSessionOptions,
  sessionSettings,
} from "../session.ts";

/** Dependencies of `ChatChoices`. */
export interface ChatChoicesOptions {
  /** The settings with which the chat was started. */
  readonly session: NewSessionOptions;
  /** The operator's approval mode; undefined where it is not known. */
  readonly operatorMode: ApprovalMode | undefined;
  /** The agents of the server. Default: not known. */
  readonly agents?: readonly ListedAgent[];
}

/** The model and the approval mode that the user chose in a chat. */
export class ChatChoices {
  /** The model of the next messages. Empty: the session's. */
  model: string;
  readonly #options: ChatChoicesOptions;
  readonly #task: () => Task;
  /** The approval mode of the next messages; undefined for the session's. */
  #mode: ApprovalMode | undefined;

  /** @param task returns the present task of the chat's messages */
  constructor(options: ChatChoicesOptions, task: () => Task) {
    this.#options = options;
    this.#task = task;
    this.model = options.session.model ?? "";
  }

  /** The name of the agent of the session; empty for the server's first. */
  get agent(): string {
    const { agent = "" } = this.#options.session;
    return this.#task().sessionSettings?.agent || agent;
  }

  /**
   * Returns why the user cannot choose a setting of the agent; empty if that is
   * not so, or not known.
   */
  refusalOf(setting: ChosenSetting): string {
    return refusalOf(setting, this.agent, this.#options.agents ?? []);
  }

  /**
   * The widest approval mode that the operator and the conversation allow;
   * unspecified where neither is known.
   */
  get limit(): ApprovalMode {
    const { operatorMode } = this.#options;
    const { approvalLimit } = this.#task();
    return operatorMode === undefined
      ? approvalLimit
      : stricterMode(operatorMode, approvalLimit);
  }

  /** The approval mode of the next message: what is wanted, within the limit. */
  get modeNow(): ApprovalMode {
    const { limit } = this;
    const wanted =
      (this.#mode ?? approvalModeOf(this.#options.session.approvalMode)) ||
      (this.#task().sessionSettings?.approvalMode ?? ApprovalMode.UNSPECIFIED);
    return limit === ApprovalMode.UNSPECIFIED
      ? wanted || ApprovalMode.DEFAULT
      : stricterMode(limit, wanted);
  }

  /**
   * Chooses the approval mode of the next messages. Throws for one beyond the
   * limit, which the server would narrow without a word.
   */
  chooseMode(mode: ApprovalMode): void {
    assertNarrower(mode, this.#options.operatorMode);
    assertWithinLimit(mode, this.#task().approvalLimit);
    this.#mode = mode;
  }

  /** Returns the settings of a new session. */
  forNewSession(): ChosenSettings {
    const { workspace, agent } = this.#options.session;
    return sessionSettings({ workspace, agent, ...this.#wanted() });
  }

  /**
   * Returns the settings that a message or a command changes in its session. A
   * mode that the session has is not sent: some agents refuse any.
   */
  changes(): ChosenSettings {
    const { model, approvalMode } = this.#wanted();
    const now = this.#task().sessionSettings?.approvalMode;
    const isSame =
      approvalModeName(now ?? ApprovalMode.UNSPECIFIED) === approvalMode;
    return sessionSettings({
      model,
      approvalMode: isSame ? undefined : approvalMode,
    });
  }

  /** What was chosen for another agent is not asked of one that refuses it. */
  #wanted(): NewSessionOptions {
    const { approvalMode, model } = this.#options.session;
    const mode =
      this.refusalOf("approval_mode") === "" ? this.#mode : undefined;
    return {
      model: this.refusalOf("model") === "" ? this.model : model,
      approvalMode: mode === undefined ? approvalMode : approvalModeName(mode),
    };
  }
}

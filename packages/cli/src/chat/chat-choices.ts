import { ApprovalMode, type Task } from "@devtool/schema";
import { approvalModeName, approvalModeOf } from "../approval-mode.ts";
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
}

/** The model and the approval mode that the user chose in a chat. */
export class ChatChoices {
  /** The model of the next messages. Empty: the session's. */
  model: string;
  /** The approval mode of the next messages; undefined for the session's. */
  mode: ApprovalMode | undefined;
  readonly #options: ChatChoicesOptions;
  readonly #task: () => Task;

  /** @param task returns the present task of the chat's messages */
  constructor(options: ChatChoicesOptions, task: () => Task) {
    this.#options = options;
    this.#task = task;
    this.model = options.session.model ?? "";
  }

  /** The approval mode of the next message. */
  get modeNow(): ApprovalMode {
    const { session, operatorMode } = this.#options;
    return (
      (this.mode ?? approvalModeOf(session.approvalMode)) ||
      this.#task().sessionSettings?.approvalMode ||
      operatorMode ||
      ApprovalMode.DEFAULT
    );
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

  #wanted(): NewSessionOptions {
    const { approvalMode } = this.#options.session;
    return {
      model: this.model,
      approvalMode:
        this.mode === undefined ? approvalMode : approvalModeName(this.mode),
    };
  }
}

import { approvalModeName } from "../approval-mode.ts";
import type { Address } from "../connection/address.ts";
import type { ChatTasks } from "./chat-tasks.ts";
import { contextLeftOf, gitBranch, type Status } from "./status-line.ts";

/** The content of the status line of a chat. */
export class ChatStatus {
  readonly #tasks: ChatTasks;
  readonly #address: Address;
  readonly #onChange: () => void;
  #branch = "";
  #wasWorking = true;

  constructor(tasks: ChatTasks, address: Address, onChange: () => void) {
    this.#tasks = tasks;
    this.#address = address;
    this.#onChange = onChange;
  }

  /** Returns the status now. The branch is read again when a turn has ended. */
  now(workspace: string | undefined): Status {
    const { isWorking, choices, current } = this.#tasks;
    const { model, modeNow, agent } = choices;
    if (this.#wasWorking && !isWorking && workspace !== undefined) {
      void gitBranch(workspace).then((branch) => {
        if (branch === this.#branch) return;
        this.#branch = branch;
        this.#onChange();
      });
    }
    this.#wasWorking = isWorking;
    const { info, url } = this.#address;
    // What the server says of itself is about its first agent.
    const conversation = this.#tasks.conversation.view.snapshot().task;
    const first = agent === "" ? info?.model : undefined;
    const hasModes = choices.refusalOf("approval_mode") === "";
    const hasModels = choices.refusalOf("model") === "";
    return {
      mode: hasModes ? approvalModeName(modeNow) : "",
      model: (hasModels && model) || current.task.model || first || "",
      agent: agent || (info?.agent ?? url),
      workspace: workspace ?? "",
      branch: this.#branch,
      editor: conversation.ideContext?.editor ?? "",
      sentTokens: current.task.usage?.inputTokens ?? 0n,
      contextLeft: contextLeftOf(conversation.usage),
    };
  }
}

import { findToolCallDetail, type StepRun } from "@devtool/schema";
import type { Turn } from "@devtool/server/agent";
import type { WorkflowDriver } from "./workflow-driver.ts";

/** Keeps a run in the log of its task, where the work of a try records its end. */
export class LogDriver implements WorkflowDriver {
  readonly #turn: Pick<Turn, "task">;

  constructor(turn: Pick<Turn, "task">) {
    this.#turn = turn;
  }

  ended(id: string): StepRun | undefined {
    const run = findToolCallDetail(this.#turn.task, id)?.stepRun;
    return run?.endTime && run;
  }

  step(_id: string, work: () => Promise<StepRun>): Promise<StepRun> {
    return work();
  }
}

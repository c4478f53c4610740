import { KeyedQueue } from "@devtool/internal/keyed-queue";
import { type Dialect, forEachAgent, route } from "../dialect.ts";

/**
 * AG-UI: `POST /ag-ui` starts a run, and answers with its events as server-sent
 * events.
 */
export function agUi(): Dialect {
  return (services) => {
    const turns = new KeyedQueue();
    return forEachAgent(services, (own) => [
      route(own, "POST", "/ag-ui", async (call) => {
        const { answerRun } = await import("./answer-run.ts");
        await answerRun(call, own, turns);
      }),
    ]);
  };
}

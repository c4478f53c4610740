import { type Dialect, forEachAgent, route } from "../dialect.ts";
import { ThreadTurns } from "./thread-turns.ts";

/**
 * AG-UI: `POST /ag-ui` starts a run, and answers with its events as server-sent
 * events.
 */
export function agUi(): Dialect {
  return (services) => {
    const turns = new ThreadTurns();
    return forEachAgent(services, (own) => [
      route(own, "POST", "/ag-ui", async (call) => {
        const { answerRun } = await import("./answer-run.ts");
        await answerRun(call, own, turns);
      }),
    ]);
  };
}

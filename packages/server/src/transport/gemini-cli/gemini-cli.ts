import { loadOnce } from "@devtool/internal/load-once";
import { type Dialect, route } from "../dialect.ts";
import type { Answers } from "./answers.ts";

/**
 * The dialect of Gemini CLI's own server, for the default agent: its messages
 * in A2A 0.3, which `a2a()` serves, and the routes that it has besides. Give it
 * before `a2a()`: A2A 1.0 has a route for `/tasks/{id}`.
 */
export function geminiCli(): Dialect {
  return (services) => {
    const load = loadOnce(async () => {
      const { Answers } = await import("./answers.ts");
      return new Answers(services);
    });
    const routed = (
      method: string,
      path: string | RegExp,
      name: Exclude<keyof Answers, "methods">,
    ) =>
      route(services, method, path, async (call) => (await load())[name](call));
    return [
      routed("GET", "/listCommands", "listCommands"),
      routed("POST", "/executeCommand", "executeCommand"),
      routed("POST", "/tasks", "createTask"),
      routed("GET", "/tasks/metadata", "listTasks"),
      routed("GET", /^\/tasks\/([^/]+)\/metadata$/, "getTask"),
      { loadMethods: async () => (await load()).methods },
    ];
  };
}

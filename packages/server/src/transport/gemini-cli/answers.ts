import { callKeys, principalOf } from "../../handler/caller.ts";
import type { DialectServices } from "../dialect.ts";
import type { RoutedCall } from "../http/routed-call.ts";
import { executeCommand, listCommands } from "./commands.ts";
import { GeminiCliTasks } from "./gemini-cli-tasks.ts";
import { GeminiCliService } from "./service.ts";
import { createTask, getTask, listTasks } from "./tasks.ts";
import type { Visit } from "./visit.ts";

/** Answers a request to one route of the dialect. */
type RouteHandler = (call: RoutedCall) => Promise<void>;

/** What answers the calls of the dialect, which share its tasks. */
export class Answers {
  readonly #services: DialectServices;
  readonly #tasks: GeminiCliTasks;
  /** The dialect's form of the methods of A2A 0.3. */
  readonly methods: GeminiCliService;

  constructor(services: DialectServices) {
    const { handler, nextId, about } = services;
    const tasks = new GeminiCliTasks(nextId);
    this.#services = services;
    this.#tasks = tasks;
    const { outputModes } = about;
    this.methods = new GeminiCliService({ handler, outputModes, tasks });
  }

  readonly listCommands: RouteHandler = this.#with(listCommands);
  readonly executeCommand: RouteHandler = this.#with(executeCommand);
  readonly createTask: RouteHandler = this.#with(createTask);
  readonly listTasks: RouteHandler = this.#with(listTasks);
  readonly getTask: RouteHandler = this.#with(getTask);

  #with(answer: (visit: Visit) => Promise<void>): RouteHandler {
    return (call) => {
      call.context.values.set(callKeys.binding, "gemini-cli");
      return answer({
        ...this.#services,
        ...call,
        geminiCli: this.#tasks,
        principal: principalOf(call.context),
      });
    };
  }
}

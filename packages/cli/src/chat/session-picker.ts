import {
  createSessionList,
  type DevtoolClient,
  type SessionList,
} from "@devtool/client";
import { oneLine } from "@devtool/internal/visible-text";
import { TaskState, type TaskSummary } from "@devtool/schema";
import { ageOf, messagesOf } from "../render/age.ts";
import { visibleName } from "../render/style.ts";
import { shortTaskId } from "../task-id.ts";
import { taskStateName } from "../task-state-name.ts";
import type { Intent } from "./intent.ts";
import { firstShown, type Picker } from "./picker.ts";

/** Maximum number of sessions to choose from: the largest page. */
const MAX_SESSIONS = 100;

/** Options of `SessionPicker`. */
interface SessionPickerOptions {
  readonly client: DevtoolClient;
  /** The directory whose sessions are shown. Empty: all. */
  readonly workspace: string;
  readonly onChange: () => void;
  readonly onProblem: (reason: unknown) => void;
  /** Receives the id of the chosen task; undefined when none was chosen. */
  readonly onChosen: (taskId: string | undefined) => void;
}

/** Lets the user choose one of the earlier conversations. */
export class SessionPicker implements Picker {
  readonly enterHint = "Enter continues it";
  /** What the titles of the shown sessions contain, in any case. */
  filter = "";
  readonly #list: SessionList;
  readonly #options: SessionPickerOptions;
  readonly #reading = new AbortController();
  /** The id of the session that is marked. Empty: the first. */
  #marked = "";

  constructor(options: SessionPickerOptions) {
    const { client, workspace, onChange, onProblem } = options;
    this.#options = options;
    const filter = workspace === "" ? {} : { workspacePath: workspace };
    this.#list = createSessionList(client, { filter, pageSize: MAX_SESSIONS });
    this.#list.subscribe(onChange);
    this.#list.follow(this.#reading.signal).catch((reason: unknown) => {
      onProblem(reason);
      this.#choose(undefined);
    });
  }

  /**
   * Returns the lines of the list, at most `maxLines`, around the marked one.
   */
  lines(maxLines: number): string[] {
    const { isLoaded } = this.#list.snapshot();
    const [sessions, index] = [this.#sessions, this.#index];
    if (sessions.length === 0) {
      const none =
        this.filter === ""
          ? "there are no conversations here"
          : "no title contains this";
      return [isLoaded ? `  ${none}` : "  …"];
    }
    const from = firstShown(index, sessions.length, maxLines);
    const rows = sessions
      .slice(from, from + maxLines)
      .map(({ id, title, lastEvent, messageCount }) => ({
        id: visibleName(shortTaskId(id)),
        state: taskStateName(lastEvent?.state ?? TaskState.UNSPECIFIED),
        age: ageOf(lastEvent?.time, Date.now()),
        messages: messagesOf(messageCount),
        title: oneLine(title),
      }));
    const stateWidth = Math.max(...rows.map(({ state }) => state.length));
    const ageWidth = Math.max(...rows.map(({ age }) => age.length));
    const messagesWidth = Math.max(
      ...rows.map(({ messages }) => messages.length),
    );
    return rows.map(({ id, state, age, messages, title }, at) => {
      const mark = from + at === index ? "❯" : " ";
      return `${mark} ${id}  ${state.padEnd(stateWidth)}  ${age.padEnd(ageWidth)}  ${messages.padEnd(messagesWidth)}  ${title}`;
    });
  }

  /** Handles a key. */
  take(intent: Intent): void {
    const [sessions, index] = [this.#sessions, this.#index];
    if (intent.case === "escape" || intent.case === "escape twice") {
      this.#choose(undefined);
    } else if (intent.case === "submit") {
      this.#choose(sessions[index]?.id);
    } else if (intent.case === "up") {
      this.#marked = sessions[index - 1]?.id ?? this.#marked;
    } else if (intent.case === "down") {
      this.#marked = sessions[index + 1]?.id ?? this.#marked;
    } else if (intent.case === "insert") {
      this.filter += intent.text;
    } else if (intent.case === "delete") {
      this.filter = this.filter.slice(0, -1);
    }
    this.#options.onChange();
  }

  /** The position of the marked session. */
  get #index(): number {
    return Math.max(
      0,
      this.#sessions.findIndex(({ id }) => id === this.#marked),
    );
  }

  get #sessions(): readonly TaskSummary[] {
    const wanted = this.filter.toLowerCase();
    return this.#list
      .snapshot()
      .sessions.filter(
        ({ id, title }) =>
          title.toLowerCase().includes(wanted) || id.startsWith(wanted),
      );
  }

  #choose(taskId: string | undefined): void {
    if (this.#reading.signal.aborted) return;
    this.#reading.abort();
    this.#options.onChosen(taskId);
  }
}

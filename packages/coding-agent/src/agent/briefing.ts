import type { AgentEvent } from "@devtool/server/agent";
import { noticeOf } from "./notice.ts";

/** What a model is told before a conversation. */
export interface Briefing {
  readonly instructions: string;
  /** What the user should know about it: what is missing, and why. */
  readonly notices: readonly string[];
}

/** What a model is told in one turn: read when it asks, once. */
export class Brief {
  readonly #read: () => Promise<Briefing>;
  #reading: Promise<Briefing> | undefined;
  /** Whether there may be notices that were not given yet. */
  hasNotices = false;

  constructor(read: () => Promise<Briefing>) {
    this.#read = read;
  }

  /** The system instruction. */
  async instructions(): Promise<string> {
    this.hasNotices ||= this.#reading === undefined;
    this.#reading ??= this.#read();
    return (await this.#reading).instructions;
  }

  /** What the user should know about it; nothing the second time. */
  async notices(): Promise<readonly AgentEvent[]> {
    this.hasNotices = false;
    return (await this.#reading)?.notices.map(noticeOf) ?? [];
  }
}

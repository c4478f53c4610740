import { create } from "@bufbuild/protobuf";
import { NoticeSchema } from "@devtool/schema";
import type { AgentEvent } from "@devtool/server/agent";

/** The information that a model gets before a conversation. */
export interface Briefing {
  /** The system instruction. */
  readonly instructions: string;
  /**
   * Messages for the user about missing or shortened information, with the
   * reason.
   */
  readonly notices: readonly string[];
}

/**
 * The briefing of one turn. It is read when a model first needs it, and only
 * once.
 */
export class TurnBriefing {
  readonly #read: (signal: AbortSignal) => Promise<Briefing>;
  #briefing: Promise<Briefing> | undefined;
  /** Whether there may be notices that `takeNotices` has not returned yet. */
  hasNotices = false;

  constructor(read: (signal: AbortSignal) => Promise<Briefing>) {
    this.#read = read;
  }

  /** Returns the system instruction. */
  async instructions(signal: AbortSignal): Promise<string> {
    if (!this.#briefing) {
      this.hasNotices = true;
      this.#briefing = this.#read(signal);
    }
    return (await this.#briefing).instructions;
  }

  /** Returns the notices for the user, each only once. */
  async takeNotices(): Promise<readonly AgentEvent[]> {
    if (!this.hasNotices) return [];
    this.hasNotices = false;
    const { notices = [] } = (await this.#briefing) ?? {};
    return notices.map((text) => ({
      case: "notice",
      value: create(NoticeSchema, { text }),
    }));
  }
}

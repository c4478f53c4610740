import type { Frame, Place, RawClient } from "./raw-client.ts";
import { askedIn } from "./transcript.ts";

/** A conversation of a client with Gemini CLI's own server. */
export interface RawScenario {
  readonly name: string;
  /** Plays the conversation, and returns the frames of each turn. */
  play(client: RawClient, place: Place): Promise<Frame[][]>;
}

/**
 * The conversations that are played with both servers. `golden/` holds the
 * answers of the peer.
 */
export const RAW_SCENARIOS: readonly RawScenario[] = [
  {
    name: "text",
    play: async (client) => [
      await client.begin("think 1\ntext Hello."),
      await client.say("text Again."),
    ],
  },
  {
    name: "read",
    play: (client, { workspace }) =>
      asking(
        client,
        call("read_file", { file_path: `${workspace}/notes.txt` }),
        "proceed_once",
      ),
  },
  {
    name: "write",
    play: (client, { workspace }) =>
      asking(
        client,
        call("write_file", {
          file_path: `${workspace}/new.txt`,
          content: "one\n",
        }),
        "proceed_once",
      ),
  },
  {
    name: "shell",
    play: (client) =>
      asking(
        client,
        call("run_shell_command", {
          command: "for i in 1 2 3; do echo line $i; sleep 0.2; done",
        }),
        "proceed_once",
      ),
  },
  {
    name: "failing",
    play: (client, { workspace }) =>
      asking(
        client,
        call("read_file", { file_path: `${workspace}/none.txt` }),
        "proceed_once",
      ),
  },
  {
    name: "always",
    play: async (client) => {
      const command = call("run_shell_command", { command: "echo again" });
      const first = await asking(client, command, "proceed_always");
      return [...first, await client.say(command)];
    },
  },
];

/** Returns a script in which the agent calls a tool, then ends with a word. */
export function call(tool: string, args: object): string {
  return `call ${tool} ${JSON.stringify(args)}\ntext Finished.`;
}

/** Begins with a prompt, and answers the approvals one at a time. */
async function asking(
  client: RawClient,
  prompt: string,
  outcome: string,
): Promise<Frame[][]> {
  const turns = [await client.begin(prompt)];
  for (;;) {
    const [callId] = askedIn(turns.at(-1) ?? []);
    if (callId === undefined) return turns;
    turns.push(await client.answer({ callId, outcome }));
  }
}

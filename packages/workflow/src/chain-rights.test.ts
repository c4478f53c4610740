import { create } from "@bufbuild/protobuf";
import { reachableAgents } from "@devtool/coding-agent/delegate";
import { CALL_CHAIN_URI } from "@devtool/internal/call-chain-uri";
import {
  ApprovalMode,
  emptyTask,
  MessageSchema,
  SessionSettingsSchema,
  stricterMode,
  type Task,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { roundsOf } from "../../../test/depth.ts";
import { modesOf } from "./reach.ts";

/** 100,000 take some ten seconds. */
const CHAINS = roundsOf("DEVTOOL_RIGHTS", {
  quick: 2000,
  ci: 20_000,
  deep: 100_000,
});
const SERVER = "http://127.0.0.1:1";
const OPERATOR = "local";
const TOOLS = ["read", "write", "run"];
const MODES = [
  ApprovalMode.UNSPECIFIED,
  ApprovalMode.PLAN,
  ApprovalMode.DEFAULT,
  ApprovalMode.AUTO_EDIT,
  ApprovalMode.YOLO,
];
const ELSEWHERE = { name: "far", url: "https://far.example", description: "" };

/** A generator of numbers from 0 to 1, the same ones each time (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

describe("a chain of agents", () => {
  it(`never has more than its first task: ${CHAINS} random chains`, () => {
    const random = randomFrom(7);
    const oneOf = <T>(list: readonly [T, ...T[]] | readonly T[]): T => {
      const item = list[Math.floor(random() * list.length)];
      if (item === undefined) throw new Error("the list is empty");
      return item;
    };
    let calls = 0;
    let refusals = 0;
    let deepest = 0;
    for (let chain = 0; chain < CHAINS; chain++) {
      const approvalMode = oneOf(MODES.slice(1));
      const maxDepth = Math.floor(random() * 6);
      const listed = ["a", "b", "c", "d"].map((name) => ({
        name,
        description: "",
        follows: {
          settings: ["approval_mode", "allowed_tools"].filter(
            () => random() < 0.7,
          ),
        },
      }));
      const first = create(SessionSettingsSchema, {
        agent: oneOf(listed).name,
        approvalMode: oneOf(MODES),
        allowedTools: TOOLS.filter(() => random() < 0.3),
      });
      const budget = random() < 0.5 ? { tokens: 3n } : undefined;
      let task: Task = {
        ...emptyTask(),
        principal: oneOf([OPERATOR, "ada"]),
        sessionSettings: first,
        history: [
          create(MessageSchema, budget ? { turnSettings: { budget } } : {}),
        ],
      };
      const visited = [`${SERVER}#${first.agent}`];
      for (;;) {
        const { agents, chain: names } = reachableAgents(task, {
          services: {
            agents: {
              serverUrl: SERVER,
              listed,
              found: async () => [],
              transportFor: () => Promise.reject(new Error("unused")),
            },
            operator: OPERATOR,
            onNotice: () => undefined,
          },
          remoteAgents: [ELSEWHERE],
          maxDepth,
          modes: (one) => modesOf(one, { approvalMode }),
        });
        // The path is what was called, and nothing else.
        if (names.join() !== visited.join()) {
          expect(names).toEqual(visited);
        }
        deepest = Math.max(deepest, visited.length - 1);
        if (visited.length - 1 > maxDepth) {
          expect(visited).toHaveLength(maxDepth);
        }
        if (agents.length === 0) break;
        const called = oneOf(agents);
        expect(visited.includes(called.chainId)).toBe(false);
        if (called.chainId === ELSEWHERE.url) {
          expect(task.principal).toBe(OPERATOR);
          break;
        }
        let settings: ReturnType<typeof called.settingsFor>;
        try {
          settings = called.settingsFor(task);
        } catch {
          refusals++;
          break;
        }
        calls++;
        const session = create(
          SessionSettingsSchema,
          settings.sessionSettings ?? {},
        );
        assertNoMore(first, session, approvalMode);
        const turnSettings = settings.messageSettings?.turn;
        if (budget) expect(turnSettings?.budget).toMatchObject(budget);
        visited.push(called.chainId);
        task = {
          ...task,
          sessionSettings: session,
          history: [
            create(MessageSchema, {
              metadata: { [CALL_CHAIN_URI]: { agents: [...names] } },
              ...(turnSettings && { turnSettings }),
            }),
          ],
        };
      }
    }
    // The chains are long enough, and some are refused.
    expect(calls).toBeGreaterThan(CHAINS / 2);
    expect(refusals).toBeGreaterThan(CHAINS / 100);
    expect(deepest).toBeGreaterThanOrEqual(3);
  });
});

/** Fails where a session has a tool or a mode that the first one has not. */
function assertNoMore(
  first: {
    readonly approvalMode: ApprovalMode;
    readonly allowedTools: string[];
  },
  session: {
    readonly approvalMode: ApprovalMode;
    readonly allowedTools: string[];
  },
  operatorMode: ApprovalMode,
): void {
  const modeOf = (mode: ApprovalMode): ApprovalMode =>
    mode === ApprovalMode.UNSPECIFIED
      ? operatorMode
      : stricterMode(mode, operatorMode);
  const allowed = modeOf(first.approvalMode);
  const has = modeOf(session.approvalMode);
  if (stricterMode(has, allowed) !== has) expect(has).toBe(allowed);
  const limit = first.allowedTools;
  const isWithin =
    limit.length === 0 ||
    (session.allowedTools.length > 0 &&
      session.allowedTools.every((tool) => limit.includes(tool)));
  if (!isWithin) expect(session.allowedTools).toEqual(limit);
}

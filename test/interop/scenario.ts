import { inspect } from "node:util";

/**
 * The scenarios that are played between a client and a server: the columns of
 * the matrix.
 */
export const SCENARIOS = [
  "card",
  "message",
  "appendix_a",
  "continued",
  "cancel",
  "resume",
  "errors",
  "extended_card",
  "push",
  "notified",
] as const;

/** The name of a scenario. */
export type ScenarioName = (typeof SCENARIOS)[number];

/** Plays a scenario. Throws if it fails. */
export type Scenario = () => Promise<void>;

/** The result of a scenario. */
export interface ScenarioResult {
  readonly scenario: ScenarioName;
  readonly ok: boolean;
  /** Why it failed. Undefined if it passed. */
  readonly reason?: string;
}

/** The server that a foreign client connects to, and how. */
export interface ClientTarget {
  readonly url: string;
  readonly token: string;
  readonly binding: string;
  /** The version of A2A: `0.3` or `1.0`. */
  readonly protocol: string;
  /**
   * The file that the scenarios have the agent write, relative to the
   * workspace.
   */
  readonly file: string;
  /** The `host:port` at which the client can receive notifications. */
  readonly hook: string;
}

/**
 * The webhook of configs that are never used. It is an IP address, so that no
 * name is looked up; nothing is posted for an ended task.
 */
export const PUSH_URL = "https://93.184.215.14/hook";

/** Creates a `fetch` that sends a bearer token. */
export function bearerFetch(token: string): typeof fetch {
  return (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set("authorization", `Bearer ${token}`);
    return fetch(input, { ...init, headers });
  };
}

/**
 * Plays scenarios one after the other. Names without a scenario are skipped.
 */
export async function play(
  scenarios: Readonly<Record<string, Scenario>>,
  names: readonly ScenarioName[],
): Promise<ScenarioResult[]> {
  const results: ScenarioResult[] = [];
  for (const scenario of names) {
    const run = scenarios[scenario];
    if (run) results.push(await resultOf(scenario, run));
  }
  return results;
}

async function resultOf(
  scenario: ScenarioName,
  run: Scenario,
): Promise<ScenarioResult> {
  try {
    await within(run(), 15_000);
    return { scenario, ok: true };
  } catch (reason) {
    return { scenario, ok: false, reason: inspect(reason).slice(0, 2_000) };
  }
}

async function within(running: Promise<void>, ms: number): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(
    () => late.reject(new Error(`did not end in ${ms} ms`)),
    ms,
  );
  try {
    await Promise.race([running, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns whether a string is the name of a scenario. */
export function isScenarioName(name: unknown): name is ScenarioName {
  return SCENARIOS.some((scenario) => scenario === name);
}

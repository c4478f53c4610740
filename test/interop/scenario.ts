/** What is played between a client and a server; the columns of the matrix. */
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

/** One of them. */
export type ScenarioName = (typeof SCENARIOS)[number];

/** Plays a scenario; throws when it goes another way than it should. */
export type Scenario = () => Promise<void>;

/** What became of one. */
export interface ScenarioResult {
  readonly scenario: ScenarioName;
  readonly ok: boolean;
  /** Why it went wrong; undefined when it did not. */
  readonly reason?: string;
}

/** The server that a foreign client meets, and how it talks to it. */
export interface ClientTarget {
  readonly url: string;
  readonly token: string;
  readonly binding: string;
  /** The version of A2A, as `0.3` or `1.0`. */
  readonly protocol: string;
  /** A file that the scenarios may have written, relative to the workspace. */
  readonly file: string;
  /** Where the client may listen for notifications, as `host:port`. */
  readonly hook: string;
}

/** Where notifications would go: to an address, so that no name is looked up; nothing is posted for a task that has ended. */
export const PUSH_URL = "https://93.184.215.14/hook";

/** A fetch that sends a token. */
export function bearerFetch(token: string): typeof fetch {
  return (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set("authorization", `Bearer ${token}`);
    return fetch(input, { ...init, headers });
  };
}

/** Plays scenarios one after the other, those that there are. */
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

async function resultOf(scenario: ScenarioName, run: Scenario): Promise<ScenarioResult> {
  try {
    await within(run(), 15_000);
    return { scenario, ok: true };
  } catch (reason) {
    return { scenario, ok: false, reason: String(reason).slice(0, 400) };
  }
}

async function within(running: Promise<void>, ms: number): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(() => late.reject(new Error(`did not end in ${ms} ms`)), ms);
  try {
    await Promise.race([running, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Tells whether a name is one of a scenario. */
export function isScenarioName(name: unknown): name is ScenarioName {
  return SCENARIOS.some((scenario) => scenario === name);
}

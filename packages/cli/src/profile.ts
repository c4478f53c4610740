import type { ServerOptions, ServerSettings } from "@devtool/server";

/** What `--profile` offers: a server for each of the kits that test A2A (docs/test-kits.md). */
export const PROFILES = ["tck", "tck-0.3", "acts"] as const;

export type Profile = (typeof PROFILES)[number];

/** The streaming timeout that the kits take when their environment names none. In milliseconds. */
const STREAMING_TIMEOUT_MS = 2_000;

/** Where the kits listen for notifications: at a port that they choose. */
const WEBHOOKS = ["localhost:*", "127.0.0.1:*"];

/** What a profile is put on top of. */
interface Base {
  /** The environment that the kits share with us. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What the operator configured. */
  readonly configured: ServerSettings;
}

/** What a profile says about a server. */
export async function profileOptions(profile: Profile, { env, configured }: Base): Promise<ServerOptions> {
  const { createTckAgent } = await import("@devtool/server/tck");
  const { ordinary, a2a } = RULES[profile];
  const { DEVTOOL_TOKEN: token } = env;
  return {
    agents: { devtool: createTckAgent({ ordinary, streamingTimeoutMs: timeoutOf(env.TCK_STREAMING_TIMEOUT) }) },
    a2a,
    retryWindowMs: 0,
    pushTargets: [...(configured.pushTargets ?? []), ...WEBHOOKS],
    ...(token && { token }),
  };
}

interface Rules {
  readonly ordinary: "completed" | "input-required";
  readonly a2a: NonNullable<ServerSettings["a2a"]>;
}

const STRICT = { unversionedCard: "v1", endedTask: "refuse", missingMessageId: "generate" } as const;

/** Where the kits differ from each other. */
const RULES: Readonly<Record<Profile, Rules>> = {
  // Pinned to A2A 1.0.0; it calls without credentials and expects the extended card all the same.
  tck: { ordinary: "completed", a2a: { ...STRICT, revision: "1.0.0", extendedCard: "everybody" } },
  // Goes on with every task that it begins.
  "tck-0.3": { ordinary: "input-required", a2a: {} },
  acts: { ordinary: "completed", a2a: { ...STRICT, inputModes: ["text/*", "application/json"] } },
};

function timeoutOf(seconds: string | undefined): number {
  if (seconds === undefined || seconds === "") return STREAMING_TIMEOUT_MS;
  const ms = Number(seconds) * 1000;
  if (ms > 0 && Number.isFinite(ms)) return ms;
  throw new Error(`TCK_STREAMING_TIMEOUT "${seconds}" is no time: give seconds, for instance 2.0`);
}

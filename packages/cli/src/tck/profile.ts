import { defined } from "@devtool/internal/json";
import type { ServerOptions, ServerSettings } from "@devtool/server";

/**
 * The choices of `--profile`: one for each A2A test kit (docs/test-kits.md).
 */
export const PROFILES = ["tck", "tck-0.3", "acts"] as const;

export type Profile = (typeof PROFILES)[number];

/** Default streaming timeout of the kits in milliseconds. */
const STREAMING_TIMEOUT_MS = 2_000;

/** The kits receive notifications on any port of this machine. */
const WEBHOOKS = ["localhost:*", "127.0.0.1:*"];

/** The settings that a profile starts from. */
interface Base {
  /** The environment variables, of which the kits read some too. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The operator's configuration. */
  readonly configured: ServerSettings;
}

/** Returns the options of a server for a test kit. */
export async function profileOptions(
  profile: Profile,
  { env, configured }: Base,
): Promise<ServerOptions> {
  const { createTckAgent } = await import("./tck-agent.ts");
  const { ordinary, a2a } = RULES[profile];
  const seconds = env.TCK_STREAMING_TIMEOUT ?? "";
  const streamingTimeoutMs =
    seconds === "" ? STREAMING_TIMEOUT_MS : Number(seconds) * 1000;
  if (!(streamingTimeoutMs > 0 && Number.isFinite(streamingTimeoutMs))) {
    throw new Error(
      `TCK_STREAMING_TIMEOUT "${seconds}" is not a duration: give seconds, such as 2.0`,
    );
  }
  return {
    agents: { devtool: createTckAgent({ ordinary, streamingTimeoutMs }) },
    a2a,
    retryWindowMs: 0,
    pushTargets: [...(configured.pushTargets ?? []), ...WEBHOOKS],
    ...defined({ token: env.DEVTOOL_TOKEN || undefined }),
  };
}

interface Rules {
  readonly ordinary: "completed" | "input-required";
  readonly a2a: NonNullable<ServerSettings["a2a"]>;
}

const STRICT = {
  unversionedCard: "v1",
  grpcInCard: true,
  endedTask: "refuse",
  missingMessageId: "generate",
} as const;

/** The differences between the kits. */
const RULES: Readonly<Record<Profile, Rules>> = {
  // Requires A2A 1.0.0, and the extended card also without credentials.
  tck: {
    ordinary: "completed",
    a2a: { ...STRICT, revision: "1.0.0", extendedCard: "everybody" },
  },
  // Continues every task that it starts.
  "tck-0.3": { ordinary: "input-required", a2a: {} },
  acts: {
    ordinary: "completed",
    a2a: { ...STRICT, inputModes: ["text/*", "application/json"] },
  },
};

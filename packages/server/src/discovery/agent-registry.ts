import { readFile } from "node:fs/promises";
import { create, fromJsonString, toJsonString } from "@bufbuild/protobuf";
import {
  durationMs,
  timestampFromMs,
  timestampMs,
} from "@bufbuild/protobuf/wkt";
import { failpoint } from "@devtool/internal/failpoint";
import { replaceFile } from "@devtool/internal/replace-file";
import { shownUrl } from "@devtool/internal/shown-url";
import {
  type AgentRegistration,
  AgentRegistrationSchema,
  AgentRegistryFileSchema,
  type FoundAgent,
  type RegisterAgentRequest,
} from "@devtool/schema";
import { Code, DevtoolError, invalid, quoted } from "../errors.ts";
import { parseTarget } from "../outbound/outbound-policy.ts";

const LEASE_MS = 5 * 60_000;
const MIN_LEASE_MS = 10_000;
const MAX_LEASE_MS = 24 * 60 * 60_000;
/** The maximum number of agents, of one principal and of all. */
const MAX_OF_ONE = 16;
const MAX_AGENTS = 256;
const MAX_DESCRIPTION = 1000;
const MAX_SKILLS = 20;
const MAX_TOKEN = 4096;
const NAME = /^[\w-]{1,50}$/;

/** Dependencies of `AgentRegistry`. */
interface RegistryOptions {
  /** Where the agents are kept over restarts. Undefined: nowhere. */
  readonly path: string | undefined;
  /** Returns the current time in milliseconds. */
  readonly now: () => number;
  /** The names that the operator gave agents. */
  readonly reserved: readonly string[];
}

/**
 * The agents elsewhere that callers have registered, each until its lease is
 * over.
 *
 * A registered agent is nobody that the operator knows: it takes no name of the
 * operator's, and a mesh gives it work only if it names who registered it.
 */
export class AgentRegistry {
  readonly #options: RegistryOptions;
  readonly #reserved: ReadonlyMap<string, string>;
  /** By their names as readers see them. */
  #kept: Promise<ReadonlyMap<string, AgentRegistration>> | undefined;
  /** The last change, or what failed of it. */
  #changing: Promise<unknown> = Promise.resolve();

  constructor(options: RegistryOptions) {
    this.#options = options;
    this.#reserved = new Map(
      options.reserved.map((name) => [plainName(name), name]),
    );
  }

  /**
   * Registers an agent, or renews it: it is stored when the promise resolves.
   *
   * Rejects with `Code.InvalidArgument` for a field that cannot be, with
   * `Code.AlreadyExists` for a name that another agent has, or nearly, and with
   * `Code.ResourceExhausted` when there are too many.
   */
  async register(
    request: RegisterAgentRequest,
    principal: string,
  ): Promise<FoundAgent> {
    const { name, url, description, skills, token } = request;
    assertRequest(request);
    const leaseMs = request.lease ? durationMs(request.lease) : LEASE_MS;
    if (!(leaseMs >= MIN_LEASE_MS && leaseMs <= MAX_LEASE_MS)) {
      throw invalid(
        "lease",
        `${leaseMs / 1000}s`,
        "is out of range",
        `write ${MIN_LEASE_MS / 1000}s to ${MAX_LEASE_MS / 1000}s`,
      );
    }
    const registration = create(AgentRegistrationSchema, {
      token,
      agent: {
        ...{ name, url, description, skills, registeredBy: principal },
        expireTime: timestampFromMs(this.#options.now() + leaseMs),
      },
    });
    await this.#change((kept) => {
      this.#assertFree(name, principal, kept);
      kept.set(plainName(name), registration);
    });
    return agentOf(registration);
  }

  /**
   * Ends the lease of an agent of a principal. Rejects with `Code.NotFound` for
   * one that it has not registered.
   */
  async unregister(name: string, principal: string): Promise<void> {
    await this.#change((kept) => {
      const found = kept.get(plainName(name));
      if (!isOf(found, name, principal)) {
        throw new DevtoolError(
          `agent ${quoted(name)} is not registered by you`,
          Code.NotFound,
        );
      }
      kept.delete(plainName(name));
    });
  }

  /** Returns the agents whose leases are not over, with their tokens. */
  async list(): Promise<readonly AgentRegistration[]> {
    const kept = await this.#read();
    return [...kept.values()].filter((one) => this.#isLive(one));
  }

  #assertFree(
    name: string,
    principal: string,
    kept: ReadonlyMap<string, AgentRegistration>,
  ): void {
    const other = kept.get(plainName(name));
    const taken =
      this.#reserved.get(plainName(name)) ??
      (isOf(other, name, principal) ? undefined : other?.agent?.name);
    if (taken !== undefined) {
      throw new DevtoolError(
        `name ${quoted(name)} is that of agent ${quoted(taken)}, or looks like it`,
        Code.AlreadyExists,
        { remedy: "choose another name" },
      );
    }
    if (other) return;
    const own = [...kept.values()].filter(
      ({ agent }) => agent?.registeredBy === principal,
    );
    if (own.length < MAX_OF_ONE && kept.size < MAX_AGENTS) return;
    throw new DevtoolError(
      `${own.length} agents of yours and ${kept.size} in all are registered: limits are ${MAX_OF_ONE} and ${MAX_AGENTS}`,
      Code.ResourceExhausted,
      { remedy: "unregister one" },
    );
  }

  /** Changes the agents that are live, one change at a time. */
  async #change(
    change: (kept: Map<string, AgentRegistration>) => void,
  ): Promise<void> {
    const changed = this.#changing.then(async () => {
      const live = [...(await this.#read())].filter(([, one]) =>
        this.#isLive(one),
      );
      const kept = new Map(live);
      change(kept);
      await this.#write(kept);
      this.#kept = Promise.resolve(kept);
    });
    this.#changing = changed.catch(() => undefined);
    await changed;
  }

  #isLive({ agent }: AgentRegistration): boolean {
    const { expireTime } = agent ?? {};
    return !!expireTime && timestampMs(expireTime) > this.#options.now();
  }

  async #read(): Promise<ReadonlyMap<string, AgentRegistration>> {
    this.#kept ??= readRegistrations(this.#options.path);
    try {
      return await this.#kept;
    } catch (reason) {
      this.#kept = undefined;
      throw reason;
    }
  }

  async #write(kept: ReadonlyMap<string, AgentRegistration>): Promise<void> {
    const { path } = this.#options;
    if (path === undefined) return;
    const registrations = [...kept.values()];
    const file = create(AgentRegistryFileSchema, { registrations });
    failpoint("devtool:agent-registry.write.before");
    await replaceFile(path, `${toJsonString(AgentRegistryFileSchema, file)}\n`);
    failpoint("devtool:agent-registry.write.after");
  }
}

/**
 * Returns how a name looks to a reader: names are the same that differ in their
 * case, in `-` and `_`, in `i`, `l` and `1`, or in `o` and `0` alone.
 */
export function plainName(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[-_]/g, "")
    .replaceAll(/[i1]/g, "l")
    .replaceAll("0", "o");
}

function isOf(
  registration: AgentRegistration | undefined,
  name: string,
  principal: string,
): boolean {
  const { agent } = registration ?? {};
  return agent?.name === name && agent.registeredBy === principal;
}

function agentOf({ agent }: AgentRegistration): FoundAgent {
  if (agent) return agent;
  throw new DevtoolError("a registration has no agent", Code.Internal);
}

/** Throws for a field of a registration that cannot be. */
function assertRequest({
  name,
  url,
  description,
  skills,
  token,
}: RegisterAgentRequest): void {
  const names = "write 1 to 50 letters, digits, - and _";
  if (!NAME.test(name)) throw invalid("name", name, "is not a name", names);
  const { hash, search } = parseTarget(url);
  if (hash !== "" || search !== "") {
    throw invalid(
      "url",
      shownUrl(url),
      "has a query or a fragment",
      "leave it out",
    );
  }
  if (description.length > MAX_DESCRIPTION) {
    throw invalid(
      "description",
      "",
      `has ${description.length} characters: limit is ${MAX_DESCRIPTION}`,
    );
  }
  if (skills.length > MAX_SKILLS) {
    throw invalid(
      "skills",
      "",
      `has ${skills.length} entries: limit is ${MAX_SKILLS}`,
    );
  }
  const skill = skills.find((one) => !NAME.test(one));
  if (skill !== undefined) {
    throw invalid("skills", skill, "is not a name", names);
  }
  if (token.length > MAX_TOKEN || /[^\x21-\x7e]/.test(token)) {
    throw invalid(
      "token",
      "",
      `is not up to ${MAX_TOKEN} visible characters of ASCII`,
    );
  }
}

async function readRegistrations(
  path: string | undefined,
): Promise<ReadonlyMap<string, AgentRegistration>> {
  if (path === undefined) return new Map();
  try {
    const text = await readFile(path, "utf8");
    const { registrations } = fromJsonString(AgentRegistryFileSchema, text, {
      ignoreUnknownFields: true,
    });
    return new Map(
      registrations.map((one) => [plainName(one.agent?.name ?? ""), one]),
    );
  } catch (reason) {
    const code = reason instanceof Error && "code" in reason && reason.code;
    if (code === "ENOENT") return new Map();
    throw new DevtoolError(
      `registered agents ${JSON.stringify(path)} cannot be read`,
      Code.FailedPrecondition,
      { remedy: "repair or remove it", cause: reason },
    );
  }
}

import { readFile } from "node:fs/promises";
import {
  create,
  fromJson,
  type JsonObject,
  type JsonValue,
  toJson,
} from "@bufbuild/protobuf";
import {
  durationMs,
  timestampFromMs,
  timestampMs,
} from "@bufbuild/protobuf/wkt";
import { failpoint } from "@devtool/internal/failpoint";
import {
  isObject,
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
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
  /** The catalogs, whose agents have names that begin with theirs. */
  readonly catalogs: readonly Named[];
  /** Receives what of the file cannot be used. */
  readonly onNotice: (text: string) => void;
}

interface Named {
  readonly name: string;
}

/** What the file has. */
interface Kept {
  /** The agents, by their names as readers see them. */
  readonly agents: ReadonlyMap<string, AgentRegistration>;
  /** The file with the registrations alone that cannot be used, as they are. */
  readonly rest: JsonObject;
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
  #kept: Promise<Kept> | undefined;
  /** Why the file could not be read the last time. Empty: it could. */
  #problem = "";
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

  /**
   * Returns the agents whose leases are not over, with their tokens. A file that
   * cannot be read has none, and a notice says so.
   */
  async list(): Promise<readonly AgentRegistration[]> {
    try {
      const { agents } = await this.#read();
      this.#problem = "";
      return [...agents.values()].filter((one) => this.#isLive(one));
    } catch (reason) {
      if (!(reason instanceof DevtoolError)) throw reason;
      const { message } = reason;
      if (message !== this.#problem) this.#options.onNotice(message);
      this.#problem = message;
      return [];
    }
  }

  #assertFree(
    name: string,
    principal: string,
    kept: ReadonlyMap<string, AgentRegistration>,
  ): void {
    const other = kept.get(plainName(name));
    const isOthers = other && !isOf(other, name, principal);
    const taken =
      this.#reservation(name) ??
      (isOthers ? looksLike(other.agent?.name ?? "") : undefined);
    if (taken !== undefined) {
      throw new DevtoolError(
        `name ${quoted(name)} ${taken}`,
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

  /** Returns why nobody can register a name; undefined where somebody can. */
  #reservation(name: string): string | undefined {
    const reserved = this.#reserved.get(plainName(name));
    if (reserved !== undefined) return looksLike(reserved);
    const catalog = this.#options.catalogs.find((one) =>
      isNameOfCatalog(name, one),
    );
    return catalog && `is for agents of catalog ${quoted(catalog.name)}`;
  }

  /** Changes the agents that are live, one change at a time. */
  async #change(
    change: (kept: Map<string, AgentRegistration>) => void,
  ): Promise<void> {
    const changed = this.#changing.then(async () => {
      const { agents: before, rest } = await this.#read();
      const live = [...before].filter(([, one]) => this.#isLive(one));
      const agents = new Map(live);
      change(agents);
      await this.#write({ agents, rest });
      this.#kept = Promise.resolve({ agents, rest });
    });
    this.#changing = changed.catch(() => undefined);
    await changed;
  }

  #isLive({ agent }: AgentRegistration): boolean {
    const { expireTime } = agent ?? {};
    return !!expireTime && timestampMs(expireTime) > this.#options.now();
  }

  async #read(): Promise<Kept> {
    this.#kept ??= this.#load();
    try {
      return await this.#kept;
    } catch (reason) {
      this.#kept = undefined;
      throw reason;
    }
  }

  /** Reads the file. A registration that cannot be used costs only itself. */
  async #load(): Promise<Kept> {
    const { path, onNotice } = this.#options;
    const file: JsonObject =
      path === undefined ? {} : await readRegistryFile(path);
    const agents = new Map<string, AgentRegistration>();
    const unusable: JsonValue[] = [];
    for (const [index, json] of listOrEmpty(file.registrations).entries()) {
      try {
        const registration = registrationOf(json);
        const { name } = agentOf(registration);
        const plain = plainName(name);
        // The operator may have given the name away since.
        const taken = this.#isLive(registration) && this.#reservation(name);
        if (taken) throw new Error(`its name ${taken}`);
        if (agents.has(plain)) throw new Error("another one has its name");
        agents.set(plain, registration);
      } catch (reason) {
        unusable.push(json);
        const { agent } = objectOrEmpty(json);
        const name = stringOrEmpty(objectOrEmpty(agent).name);
        const why = reason instanceof Error ? reason.message : String(reason);
        onNotice(
          `registration ${index + 1}, of agent ${quoted(name)}, in ${quoted(path ?? "")} is left out: ${why}: repair or remove it`,
        );
      }
    }
    return { agents, rest: { ...file, registrations: unusable } };
  }

  /** Writes the file. What of it cannot be used stays in it. */
  async #write({ agents, rest }: Kept): Promise<void> {
    const { path } = this.#options;
    if (path === undefined) return;
    const file = create(AgentRegistryFileSchema, {
      registrations: [...agents.values()],
    });
    const usable = objectOrEmpty(toJson(AgentRegistryFileSchema, file));
    const registrations = [
      ...listOrEmpty(usable.registrations),
      ...listOrEmpty(rest.registrations),
    ];
    failpoint("devtool:agent-registry.write.before");
    await replaceFile(path, `${JSON.stringify({ ...rest, registrations })}\n`);
    failpoint("devtool:agent-registry.write.after");
  }
}

/**
 * Returns how a name looks to a reader: names are the same that differ in their
 * case, in `-` and `_`, in `i`, `l` and `1`, or in `o` and `0` alone.
 */
export function plainName(name: string): string {
  return plainLetters(name).replaceAll("-", "");
}

/** Whether a name is one of those that agents of a catalog have, or looks so. */
export function isNameOfCatalog(name: string, catalog: Named): boolean {
  return plainLetters(name).startsWith(plainLetters(`${catalog.name}-`));
}

function plainLetters(name: string): string {
  return name
    .toLowerCase()
    .replaceAll("_", "-")
    .replaceAll(/[i1]/g, "l")
    .replaceAll("0", "o");
}

function looksLike(name: string): string {
  return `is that of agent ${quoted(name)}, or looks like it`;
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
}: Omit<RegisterAgentRequest, "$typeName" | "lease">): void {
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

/** Reads a registration of the file. Throws for one that cannot be used. */
function registrationOf(json: JsonValue): AgentRegistration {
  const registration = decodeRegistration(json);
  const agent = agentOf(registration);
  assertRequest({ ...agent, token: registration.token });
  if (!agent.expireTime) throw new Error("it has no expireTime");
  if (agent.registeredBy === "") throw new Error("it has no registeredBy");
  return registration;
}

function decodeRegistration(json: JsonValue): AgentRegistration {
  try {
    return fromJson(AgentRegistrationSchema, json, {
      ignoreUnknownFields: true,
    });
  } catch (reason) {
    // The value comes last, and may be a token.
    const why = reason instanceof Error ? reason.message : String(reason);
    const [problem] = why.split(" from JSON");
    throw new Error(problem, { cause: reason });
  }
}

/** Reads the file as JSON; an empty object for one that is not there. */
async function readRegistryFile(path: string): Promise<JsonObject> {
  try {
    const file: unknown = JSON.parse(await readFile(path, "utf8"));
    if (!isObject(file)) throw new Error("it is not an object");
    const { registrations = [] } = file;
    if (!Array.isArray(registrations)) {
      throw new Error("registrations is not a list");
    }
    return file;
  } catch (reason) {
    const code = reason instanceof Error && "code" in reason && reason.code;
    if (code === "ENOENT") return {};
    throw new DevtoolError(
      `registered agents ${JSON.stringify(path)} cannot be read`,
      Code.FailedPrecondition,
      { remedy: "repair or remove it", cause: reason },
    );
  }
}

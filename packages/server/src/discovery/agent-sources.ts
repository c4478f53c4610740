import { join } from "node:path";
import { ConnectError } from "@connectrpc/connect";
import type { FoundAgent, RegisterAgentRequest } from "@devtool/schema";
import type { JSONWebKeySet } from "jose";
import type { CallableAgent } from "../agent/agent.ts";
import { Code, DevtoolError } from "../errors.ts";
import { checkedFetch } from "../outbound/checked-fetch.ts";
import { hostPort, parseTarget } from "../outbound/outbound-policy.ts";
import {
  type AgentCatalog,
  AgentCatalogs,
  allowingTarget,
} from "./agent-catalogs.ts";
import { AgentRegistry } from "./agent-registry.ts";

/** Which agents elsewhere a server finds. */
export interface AgentSourceOptions {
  /** The servers whose catalogs are read. Default: none. */
  readonly catalogs?: readonly AgentCatalog[] | undefined;
  /** The keys that sign the cards of registered agents. Default: none is checked. */
  readonly keys?: JSONWebKeySet | undefined;
  /**
   * Targets that agents may have although they are not public, as `host:port` or
   * `host:*`. Default: none.
   */
  readonly targets?: readonly string[] | undefined;
  /** Names that nobody can register, beside those of the server's agents. */
  readonly reservedNames?: readonly string[] | undefined;
}

/** Dependencies of `AgentSources`. */
interface SourcesOptions {
  readonly settings: AgentSourceOptions;
  /** Whether other servers have the same tasks, and would not have an agent. */
  readonly isShared: boolean;
  /** The names of the server's own agents. */
  readonly served: readonly string[];
  readonly dataDirectory: string | undefined;
  readonly now: () => number;
  readonly ownPorts: () => readonly number[];
  readonly onNotice: (text: string) => void;
}

/** The agents elsewhere that are registered here, or in catalogs of others. */
export class AgentSources {
  readonly #options: SourcesOptions;
  readonly #registry: AgentRegistry;
  readonly #catalogs: AgentCatalogs;

  constructor(options: SourcesOptions) {
    const { settings, served, dataDirectory, ...reading } = options;
    this.#options = options;
    this.#registry = new AgentRegistry({
      path: dataDirectory && join(dataDirectory, "registered-agents.json"),
      now: options.now,
      onNotice: options.onNotice,
      reserved: [...served, ...(settings.reservedNames ?? [])],
      catalogs: settings.catalogs ?? [],
    });
    this.#catalogs = new AgentCatalogs(settings.catalogs ?? [], {
      ...reading,
      targets: settings.targets ?? [],
    });
  }

  /**
   * See `AgentRegistry.register`. Rejects with `Code.FailedPrecondition` where
   * servers share a store: a task goes on at one that would not have the agent.
   */
  async register(
    request: RegisterAgentRequest,
    principal: string,
  ): Promise<FoundAgent> {
    if (this.#options.isShared) {
      throw new DevtoolError(
        "this server shares its tasks with others, which would not have the agent",
        Code.FailedPrecondition,
        { remedy: "have the operator list it in remote_agents or a catalog" },
      );
    }
    return this.#registry.register(request, principal);
  }

  /** See `AgentRegistry.unregister`. */
  unregister(name: string, principal: string): Promise<void> {
    return this.#registry.unregister(name, principal);
  }

  /** Returns the agents that are registered. */
  async registered(): Promise<readonly FoundAgent[]> {
    const registered = await this.#registry.list();
    return registered.flatMap(({ agent }) => agent ?? []);
  }

  /** Returns what is known of the agents, those that are registered first. */
  async list(): Promise<readonly FoundAgent[]> {
    const [registered, listed] = await Promise.all([
      this.registered(),
      this.#catalogs.list(),
    ]);
    return [...registered, ...listed.map(({ agent }) => agent)];
  }

  /** Returns the agents as they are called. */
  async callable(): Promise<readonly CallableAgent[]> {
    const [registered, listed] = await Promise.all([
      this.#registry.list(),
      this.#catalogs.list(),
    ]);
    const { keys } = this.#options.settings;
    return [
      ...registered.flatMap(({ agent, token }) =>
        agent ? [{ ...agent, token, keys, fetch: this.#fetch(agent, []) }] : [],
      ),
      ...listed.map(({ agent, catalog }) => {
        const own = parseTarget(catalog.url);
        const isOwn = parseTarget(agent.url).origin === own.origin;
        return {
          ...agent,
          token: isOwn ? catalog.token : undefined,
          keys: catalog.keys,
          fetch: this.#fetch(agent, isOwn ? [hostPort(own)] : []),
        };
      }),
    ];
  }

  /** A card may name any address: the token goes to the agent's own origin alone. */
  #fetch(
    { url }: FoundAgent,
    hosts: readonly string[],
  ): typeof globalThis.fetch {
    const { settings, ownPorts } = this.#options;
    const { origin } = parseTarget(url);
    const send = checkedFetch({
      allowedHosts: [...hosts, ...(settings.targets ?? [])],
      allowing: allowingTarget,
      ownPorts,
    });
    return async (input, init) => {
      const target = input instanceof Request ? input.url : input;
      const headers = new Headers(init?.headers);
      if (new URL(target).origin !== origin) headers.delete("authorization");
      try {
        return await send(target, { ...init, headers });
      } catch (reason) {
        // The client of an agent would say that the connection was lost.
        if (!(reason instanceof DevtoolError)) throw reason;
        const { message, code } = reason;
        throw new ConnectError(message, code, undefined, undefined, reason);
      }
    };
  }
}

import type { Client, McpSubscription } from "@modelcontextprotocol/client";

/**
 * What is known of a resource since it was read. It is unknown whether one has
 * changed while nobody could hear its server say so.
 */
export type ResourceChange = "none" | "changed" | "unknown";

/** A list of a server, as its capabilities name it. */
type ListCapability = "tools" | "prompts" | "resources";

/** The maximum number of resources whose changes are heard of. */
const MAX_WATCHED = 100;
/** The timeout of a subscription, in milliseconds. */
const SUBSCRIBE_MS = 30_000;

/**
 * What the server of a connection says has changed: its lists, and resources
 * that were read.
 *
 * Since 2026-07-28 it says so in streams. One that is lost is opened again when
 * a list is needed, and until then no list counts as unchanged.
 */
export class ServerChanges {
  readonly #client: Client;
  readonly #onLost: () => void;
  /** Aborts when the connection is over. */
  readonly #ended: AbortSignal;
  readonly #read = new Map<string, ResourceChange>();
  #listening: Promise<McpSubscription | undefined> = Promise.resolve(undefined);
  #isLost = false;
  /** The number of streams that are being opened, one after the other. */
  #opening = 0;

  /** @param onLost is called when changes may have been missed */
  constructor(client: Client, onLost: () => void, ended: AbortSignal) {
    this.#client = client;
    this.#onLost = onLost;
    this.#ended = ended;
  }

  /** Begins to hear, when the client has connected. */
  begin(): void {
    const { autoOpenedSubscription } = this.#client;
    if (autoOpenedSubscription) this.#hearEnd(autoOpenedSubscription);
  }

  /** The resources that were read, each with what is known of it. */
  get resources(): ReadonlyMap<string, ResourceChange> {
    return this.#read;
  }

  /**
   * Whether the server says when a list changes. One of 2026-07-28 that does
   * not says how long a list holds, which the SDK keeps to.
   */
  tellsOf(list: ListCapability): boolean {
    if (!this.#isModern) return true;
    const capability = this.#client.getServerCapabilities()?.[list];
    return capability?.listChanged === true && !this.#isLost;
  }

  /** Hears again, where a stream was lost and none is being opened. */
  hearAgain(): void {
    if (this.#isLost && this.#opening === 0) this.#listen();
  }

  /** Hears of resources again that were read over a connection before. */
  resume(uris: Iterable<string>): void {
    const known = [...uris].filter((uri) => this.markRead(uri));
    for (const uri of known) this.#read.set(uri, "unknown");
    this.#watch(known);
  }

  /** Notes what a server says of a resource that was read. */
  noteChange(uri: string): void {
    if (this.#read.has(uri)) this.#read.set(uri, "changed");
  }

  /**
   * Notes that a resource is read now: what its server says from here on is
   * news. Returns whether its changes can be heard of.
   */
  markRead(uri: string): boolean {
    const { resources } = this.#client.getServerCapabilities() ?? {};
    const hasRoom = this.#read.has(uri) || this.#read.size < MAX_WATCHED;
    if (!resources?.subscribe || !hasRoom) return false;
    this.#read.set(uri, "none");
    return true;
  }

  /** Puts back what was known of a resource that could not be read. */
  unmarkRead(uri: string, before: ResourceChange | undefined): void {
    if (before === undefined) {
      this.#read.delete(uri);
    } else if (before !== "none") {
      this.#read.set(uri, before);
    }
  }

  /** Hears of changes of a resource from now on, in the background. */
  watch(uri: string): void {
    this.#watch([uri]);
  }

  /**
   * A subscription that fails costs nothing else: the next read of the resource
   * tries again.
   */
  #watch(uris: readonly string[]): void {
    if (uris.length === 0) return;
    if (this.#isModern) {
      this.#listen(uris);
      return;
    }
    const options = { signal: this.#ended, timeout: SUBSCRIBE_MS };
    for (const uri of uris) {
      this.#client
        .subscribeResource({ uri }, options)
        .catch(() => this.#drop([uri]));
    }
  }

  /**
   * Opens a stream of all changes in place of the one before.
   *
   * @param added the resources that are forgotten if that fails
   */
  #listen(added: readonly string[] = []): void {
    const client = this.#client;
    this.#opening++;
    this.#listening = this.#listening.then(async (before) => {
      const { tools, prompts, resources } =
        client.getServerCapabilities() ?? {};
      const filter = {
        ...(tools?.listChanged && { toolsListChanged: true }),
        ...(prompts?.listChanged && { promptsListChanged: true }),
        ...(resources?.listChanged && { resourcesListChanged: true }),
        resourceSubscriptions: [...this.#read.keys()],
      };
      try {
        const options = { signal: this.#ended, timeout: SUBSCRIBE_MS };
        const next = await client.listen(filter, options);
        // What was read while nobody heard may have changed since.
        if (this.#isLost) this.#doubt();
        this.#isLost = false;
        this.#hearEnd(next);
        await before?.close().catch(() => undefined);
        return next;
      } catch {
        this.#drop(added);
        return before;
      } finally {
        this.#opening--;
      }
    });
  }

  #hearEnd({ closed }: McpSubscription): void {
    void closed.then((cause) => {
      if (cause === "local" || this.#ended.aborted) return;
      this.#isLost = true;
      this.#doubt();
      this.#onLost();
    });
  }

  #doubt(): void {
    for (const [uri, change] of this.#read) {
      if (change === "none") this.#read.set(uri, "unknown");
    }
  }

  /** Forgets resources, unless the next connection hears of them. */
  #drop(uris: readonly string[]): void {
    if (this.#ended.aborted) return;
    for (const uri of uris) this.#read.delete(uri);
  }

  get #isModern(): boolean {
    return this.#client.getProtocolEra() === "modern";
  }
}

import { useEffect } from "react";

/**
 * Something that reads until a signal aborts, and shows its errors in its
 * snapshot.
 */
interface Follower {
  follow(signal: AbortSignal): Promise<void>;
}

/**
 * Reads while the component is mounted.
 */
export function useFollowing(follower: Follower): void {
  useEffect(() => {
    const mounted = new AbortController();
    // The snapshot has the error, too.
    follower.follow(mounted.signal).catch(() => undefined);
    return () => mounted.abort();
  }, [follower]);
}

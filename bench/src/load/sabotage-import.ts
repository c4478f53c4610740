/**
 * Takes the protection away from the process that loads this which its
 * environment names: for servers that are started by their command.
 */
import { sabotage } from "./sabotage.ts";

sabotage(process.env.DEVTOOL_BENCH_SABOTAGE ?? "");

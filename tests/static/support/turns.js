export const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Lets everything that is waiting for nothing but its turn have its turn. */
export async function settled() {
  for (let turns = 0; turns < 50; turns++) await turn();
}

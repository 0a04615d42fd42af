export const where: string = "lib/index.ts";

export const helper: number = 7;

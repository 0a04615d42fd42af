export const own: string = "self reference";

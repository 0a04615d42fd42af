import { app, password } from "sampan";

const BCRYPT = "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW";

app.get("/round", async () => {
  const hash = await password.hash("größe\0 7");
  return {
    form: /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/.test(hash), right: await password.verify("größe\0 7", hash),
    wrong: await password.verify("größe\0 8", hash), cut: await password.verify("größe", hash),
    empty: await password.verify("", hash),
    salted: await password.hash("a") !== await password.hash("a"), rehash: password.needsRehash(hash),
  };
});
app.get("/long", async () => {
  const long = "x".repeat(10000);
  const hash = await password.hash(long);
  return { right: await password.verify(long, hash), longer: await password.verify(`${long}x`, hash) };
});
app.get("/bcrypt", async () => ({
  right: await password.verify("U*U", BCRYPT), wrong: await password.verify("U*V", BCRYPT), rehash: password.needsRehash(BCRYPT),
}));
app.get("/nobody", async () => ({ found: await password.verify("U*U", undefined) }));

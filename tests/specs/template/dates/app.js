import { app } from "sampan";

const day = new Date(0);
app.get("/shown", () => app.renderString("{{ day }} {{ day|format_date }}", { day }));
app.get("/json", () => app.renderString("{{ data|tojson }}", { data: { day, days: [day] } }));
app.get("/loop", () => app.renderString("{% for day in days %}{{ day }};{% endfor %}", { days: [day, new Date(1000)] }));

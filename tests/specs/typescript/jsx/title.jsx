export const Title = ({ text }) => <h1>{text}</h1>;
